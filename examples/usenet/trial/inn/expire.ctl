# Only what says itself when it expires does.
/remember/:11
*:A:0:never:never
