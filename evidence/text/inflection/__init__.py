"""Words and their forms in many languages, as the index of the documents and the search for trails take them."""
