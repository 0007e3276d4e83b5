#!/bin/sh
# Written by `cargo xtask` (xtask/src/cross.rs). Rust does not know that gcc makes static PIEs for arm64, and asks for a program
# that lies at one place in memory. What it compiles may lie anywhere, so it is asked for in the words for that.
case " $* " in *" -no-pie "*)
    case " $* " in *" -static "*)
        for word; do
            shift
            case $word in -static | -no-pie) ;; *) set -- "$@" "$word" ;; esac
        done
        set -- "$@" -static-pie
        ;;
    esac
    ;;
esac
exec GCC "$@"
