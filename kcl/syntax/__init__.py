"""From the text of a KCL file to its syntax tree."""
