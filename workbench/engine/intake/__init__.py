"""Taking in what already exists: live objects or manifests become a stack whose first plan changes nothing.

values       what is taken, what is not and why, what the user has to set, and the files
taking       which objects are whose: what controllers, the server and other tools make is left to them
configuring  a live object as a configuration would say it
concealing   secrets become references to where they are stored, or options
writing      the objects as KCL, and the files around them
modelling    what models of the repository say in a few lines, as they propose themselves
proving      that the files compile to exactly what was taken
"""
