extension CompletionScript {
    var zsh: String {
        """
        #compdef sluice
        # sluice completion for zsh; save it as _sluice in a folder of $fpath, or load it with:
        # source <(sluice completion zsh)
        # Completes what follows `--`, which is a command line of its own.
        _sluice_program() {
            local index=${words[(ie)--]}
            ((index < CURRENT)) || return 1
            shift $index words
            ((CURRENT -= index))
            if ((CURRENT == 1)); then _command_names -e; else _normal; fi
            return 0
        }
        _sluice() {
            # A list called `commands` would hide the shell's own of that name.
            local -a programs=(
        \(commands.map { "        \(quoted("\($0.name):\($0.summary)"))" }.joined(separator: "\n"))
            )
            if ((CURRENT == 2)); then
                _describe command programs
                _arguments '--help[print help]' '--version[print the version]'
                return
            fi
            local command="${words[2]}"
            shift words
            ((CURRENT--))
            case "$command" in
        \(commands.map(zshArguments).joined(separator: "\n"))
            esac
        }
        # From $fpath the whole file is what the first completion calls; sourced it says that it completes.
        if [[ "$funcstack[1]" == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi
        """
    }

    private func zshArguments(_ command: CommandDescription) -> String {
        let options = command.options.map { option in
            let repetition = option.isRepeatable ? "*" : ""
            let value = option.valueName.map { "=:\(escaped($0)):\(zshAction(option.completion))" }
            let assignment = value == nil ? "" : "="
            return quoted(
                "\(repetition)--\(option.name)\(assignment)[\(escaped(option.explanation))]\(value.map { String($0.dropFirst()) } ?? "")"
            )
        }
        let arguments = command.arguments.enumerated().map { index, argument in
            quoted(
                "\(index + 1):\(argument.isOptional ? ":" : "")\(escaped(argument.name)):\(zshAction(argument.completion))"
            )
        }
        let program = command.program == nil ? "" : "_sluice_program && return; "
        return "    \(command.name)) \(program)_arguments \((options + arguments).joined(separator: " ")) ;;"
    }

    private func zshAction(_ completion: OptionDescription.Completion) -> String {
        switch completion {
        case .nothing: " "
        case .files: "_files"
        case .directories: "_files -/"
        case .choices(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            if "[]:\\".contains(character) { result.append("\\") }
            result.append(character)
        }
        return result
    }

    /// The text as a word in single quotes, which all three shells read in the same way.
    func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }
}
