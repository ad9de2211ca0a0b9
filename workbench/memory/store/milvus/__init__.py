"""An index in Milvus, with its BM25 function and its dense vectors."""
