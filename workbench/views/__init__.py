"""What a person sees: words, tables, figures and widgets."""
