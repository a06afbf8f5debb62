extension CompletionScript {
    var zsh: String {
        """
        #compdef sluice
        # sluice completion for zsh; save it as _sluice in a folder of $fpath.
        _sluice() {
            local -a commands=(
        \(commands.map { "        \(quoted("\($0.name):\($0.summary)"))" }.joined(separator: "\n"))
            )
            if ((CURRENT == 2)); then
                _describe command commands
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
        compdef _sluice sluice
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
            quoted("\(index + 1):\(argument.name):\(zshAction(argument.completion))")
        }
        return "    \(command.name)) _arguments \((options + arguments).joined(separator: " ")) ;;"
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
