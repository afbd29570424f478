-- Version 4 changed the function that writes a group. It is made last of all now.
DROP FUNCTION IF EXISTS foretell.append;
