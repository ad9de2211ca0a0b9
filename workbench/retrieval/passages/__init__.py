"""An index that knows its passages, and the stages that read them."""
