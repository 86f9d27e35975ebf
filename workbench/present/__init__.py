"""Engine values as things to show: rows, trees, lines of toned text. Pure, and shared by all faces.

    text      spans of text with a tone; what a tone looks like is each face's own business
    rows      rows and columns of tables and trees
    glyphs    the sign that goes with every status and operation, in Unicode and in ASCII
    durations ages and durations as people read them

Nothing here knows a terminal, a browser or a notebook.
"""
