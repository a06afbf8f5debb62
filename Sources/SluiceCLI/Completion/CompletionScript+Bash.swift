extension CompletionScript {
    /// The script for bash. Bash splits words at `=`, so the value of an option arrives as a separate word.
    var bash: String {
        """
        # sluice completion for bash; load it with: source <(sluice completion bash)
        _sluice() {
            local current="${COMP_WORDS[COMP_CWORD]}" option="" command="${COMP_WORDS[1]}"
            if [[ $current == "=" ]]; then
                option="${COMP_WORDS[COMP_CWORD-1]}"
                current=""
            elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == "=" ]]; then
                option="${COMP_WORDS[COMP_CWORD-2]}"
            fi
            COMPREPLY=()
            if ((COMP_CWORD == 1)); then
                COMPREPLY=($(compgen -W "\(commandNames) --help --version" -- "$current"))
                return
            fi
            case "$command $option" in
        \(commands.flatMap(bashValues).joined(separator: "\n"))
            esac
            [[ -n $option ]] && return
            if [[ $current == -* ]]; then
                case "$command" in
        \(commands.map(bashOptions).joined(separator: "\n"))
                esac
                [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
                return
            fi
            case "$command" in
        \(commands.compactMap(bashArguments).joined(separator: "\n"))
            esac
        }
        complete -F _sluice sluice
        """
    }

    private func bashValues(_ command: CommandDescription) -> [String] {
        command.options.compactMap { option in
            Self.bashReply(option.completion).map { "    '\(command.name) --\(option.name)') \($0); return ;;" }
        }
    }

    private func bashOptions(_ command: CommandDescription) -> String {
        let words = command.options.map { "--\($0.name)" + ($0.valueName == nil ? "" : "=") }
        return
            "        \(command.name)) COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\")) ;;"
    }

    private func bashArguments(_ command: CommandDescription) -> String? {
        let replies = command.arguments.compactMap { Self.bashReply($0.completion) }
        return replies.first.map { "    \(command.name)) \($0) ;;" }
    }

    private static func bashReply(_ completion: OptionDescription.Completion) -> String? {
        switch completion {
        case .nothing: nil
        case .files: #"COMPREPLY=($(compgen -f -- "$current"))"#
        case .directories: #"COMPREPLY=($(compgen -d -- "$current"))"#
        case .choices(let words): #"COMPREPLY=($(compgen -W "\#(words.joined(separator: " "))" -- "$current"))"#
        }
    }
}
