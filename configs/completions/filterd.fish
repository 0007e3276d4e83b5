complete --keep-order --exclusive --command filterd --arguments "(FILTERD_COMPLETE=fish filterd -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
