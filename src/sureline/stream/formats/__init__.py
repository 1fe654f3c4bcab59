"""One parser per kind of file: native text, tables, list columns, Arrow."""
