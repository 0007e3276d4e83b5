# Completion of filterd for bash, as `filterd completions bash` prints it. Each tab asks filterd what there is.
_filterd() {
    local IFS=$'\013' words=() index=0 part typed joined=false
    for ((index = 0; index <= COMP_CWORD; index++)); do
        part=${COMP_WORDS[index]}
        # Bash takes 2001:db8::7 apart at its colons, if COMP_WORDBREAKS has one.
        if ((${#words[@]} > 0)) && [[ $COMP_WORDBREAKS == *:* ]] && { [[ $part =~ ^:+$ ]] || $joined; }; then
            # A word that is yet to begin belongs to nothing before it.
            if ((index == COMP_CWORD)) && [[ -z $part && ${COMP_LINE:COMP_POINT-1:1} == ' ' ]]; then
                words+=("")
            else
                words[${#words[@]} - 1]+=$part
            fi
        else
            words+=("$part")
        fi
        if [[ $part =~ ^:+$ ]]; then joined=true; else joined=false; fi
    done
    typed=${words[${#words[@]} - 1]}
    COMPREPLY=($(_CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE \
        _CLAP_COMPLETE_SPACE=false FILTERD_COMPLETE=bash filterd -- "${words[@]}" 2>/dev/null)) || COMPREPLY=()
    if [[ $COMP_WORDBREAKS == *:* && $typed == *:* ]]; then
        # What stands before the last colon is a word of its own to bash, and stays.
        COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*:}"}"}")
    fi
    if [[ ${COMPREPLY[0]-} == */ ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _filterd filterd
