-- Sessions of pages inside other applications' pages. The tokens that open them stand among the sign-in links.
ALTER TABLE sessions ADD COLUMN embedded boolean NOT NULL DEFAULT false;
