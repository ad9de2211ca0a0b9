"""The notebooks as pages that need no kernel, and the README's pictures, which are taken from them."""
