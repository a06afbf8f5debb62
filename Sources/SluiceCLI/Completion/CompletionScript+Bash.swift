extension CompletionScript {
    /// The script for bash. Bash splits words at `=` and `:`, so the value of an option arrives as a separate word, and a
    /// URL as several.
    var bash: String {
        """
        # sluice completion for bash; load it with: source <(sluice completion bash)
        _sluice() {
            local current="${COMP_WORDS[COMP_CWORD]}" option="" command="${COMP_WORDS[1]}" values="" word
            local position=0 index=2
            COMPREPLY=()
            if ((COMP_CWORD == 1)); then
                COMPREPLY=($(compgen -W "\(commandNames) --help --version" -- "$current"))
                return
            fi
            # The options that have values.
            case "$command" in
        \(commands.map(bashValueNames).joined(separator: "\n"))
            esac
            # How many arguments are before this word.
            while ((index < COMP_CWORD)); do
                word="${COMP_WORDS[index]}"
                case "$word" in
                --) break ;;
                = | :) ((index++)) ;;
                -*) [[ $values == *" $word "* && ${COMP_WORDS[index + 1]} != "=" ]] && ((index++)) ;;
                *) ((position++)) ;;
                esac
                ((index++))
            done
            if ((index < COMP_CWORD)) && [[ $word == "--" ]]; then
                case "$command" in
                \(programCommandNames.joined(separator: " | "))) \(Self.bashProgram) ;;
                esac
                return
            fi
            word="${COMP_WORDS[COMP_CWORD-1]}"
            # The rest of a URL.
            [[ $current == ":" || $word == ":" ]] && return
            if [[ $current == "=" ]]; then
                option="$word"
                current=""
            elif [[ $word == "=" ]]; then
                option="${COMP_WORDS[COMP_CWORD-2]}"
            elif [[ $values == *" $word "* ]]; then
                option="$word"
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
            case "$command $position" in
        \(commands.flatMap(bashArguments).joined(separator: "\n"))
            esac
        }
        complete -F _sluice sluice
        """
    }

    /// A program of the machine, and then what it is given.
    private static let bashProgram = """
        if ((index + 1 == COMP_CWORD)); then COMPREPLY=($(compgen -c -- "$current")); else \(bashFiles); fi
        """

    private static let bashFiles = bashPaths("f")
    private static let bashFolders = bashPaths("d")

    private static func bashPaths(_ kind: String) -> String {
        #"local IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -\#(kind) -- "$current"))"#
    }

    private func bashValueNames(_ command: CommandDescription) -> String {
        "    \(command.name)) values=\" \(command.valueOptions.joined(separator: " ")) \" ;;"
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

    private func bashArguments(_ command: CommandDescription) -> [String] {
        command.arguments.enumerated().compactMap { index, argument in
            Self.bashReply(argument.completion).map { "    '\(command.name) \(index)') \($0) ;;" }
        }
    }

    private static func bashReply(_ completion: OptionDescription.Completion) -> String? {
        switch completion {
        case .nothing: nil
        case .files: bashFiles
        case .directories: bashFolders
        case .choices(let words): #"COMPREPLY=($(compgen -W "\#(words.joined(separator: " "))" -- "$current"))"#
        }
    }
}
