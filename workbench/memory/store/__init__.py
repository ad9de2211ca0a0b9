"""Where documents, chunks and vectors are kept, and the engines that search them."""
