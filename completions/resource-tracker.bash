# Made from the option table by make docs; do not edit.
_resource_tracker()
{
    local word=${COMP_WORDS[COMP_CWORD]} i
    COMPREPLY=()
    # Behind the first word that is no option, the command has its own completion.
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --) _command_offset $((i + 1)); return ;;
        -p|--pid) ((i++)) ;;
        -i|--interval) ((i++)) ;;
        -c|--config) ((i++)) ;;
        -f|--format) ((i++)) ;;
        --csv-columns) ((i++)) ;;
        -o|--output) ((i++)) ;;
        --report) ((i++)) ;;
        --from) ((i++)) ;;
        --upload-interval) ((i++)) ;;
        -n|--job-name) ((i++)) ;;
        --project-name) ((i++)) ;;
        --stage-name) ((i++)) ;;
        --task-name) ((i++)) ;;
        --team) ((i++)) ;;
        --env) ((i++)) ;;
        --language) ((i++)) ;;
        --orchestrator) ((i++)) ;;
        --executor) ((i++)) ;;
        --external-run-id) ((i++)) ;;
        --container-image) ((i++)) ;;
        --tag) ((i++)) ;;
        --pss) ((i++)) ;;
        --procfs) ((i++)) ;;
        --sysfs) ((i++)) ;;
        -*) ;;
        *) _command_offset $i; return ;;
        esac
    done
    case ${COMP_WORDS[COMP_CWORD-1]} in
        -p|--pid) COMPREPLY=(); return ;;
        -i|--interval) COMPREPLY=(); return ;;
        -c|--config) COMPREPLY=($(compgen -f -- "$word")); return ;;
        -f|--format) COMPREPLY=($(compgen -W 'json csv' -- "$word")); return ;;
        --csv-columns) COMPREPLY=($(compgen -W 'basic full' -- "$word")); return ;;
        -o|--output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --report) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --from) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --upload-interval) COMPREPLY=(); return ;;
        -n|--job-name) COMPREPLY=(); return ;;
        --project-name) COMPREPLY=(); return ;;
        --stage-name) COMPREPLY=(); return ;;
        --task-name) COMPREPLY=(); return ;;
        --team) COMPREPLY=(); return ;;
        --env) COMPREPLY=(); return ;;
        --language) COMPREPLY=(); return ;;
        --orchestrator) COMPREPLY=(); return ;;
        --executor) COMPREPLY=(); return ;;
        --external-run-id) COMPREPLY=(); return ;;
        --container-image) COMPREPLY=(); return ;;
        --tag) COMPREPLY=(); return ;;
        --pss) COMPREPLY=($(compgen -W 'auto always never' -- "$word")); return ;;
        --procfs) COMPREPLY=($(compgen -d -- "$word")); return ;;
        --sysfs) COMPREPLY=($(compgen -d -- "$word")); return ;;
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W '--pid -p --interval -i --config -c --format -f --csv-columns --output -o --quiet --summary --report --from --upload-interval --job-name -n --project-name --stage-name --task-name --team --env --language --orchestrator --executor --external-run-id --container-image --tag --no-detect --pss --cgroup --no-gpu --gpu-detail --procfs --sysfs --verbose --host-info --list-metrics --help -h --version -V' -- "$word"))
    else
        COMPREPLY=($(compgen -c -- "$word"))
    fi
}
complete -F _resource_tracker resource-tracker
