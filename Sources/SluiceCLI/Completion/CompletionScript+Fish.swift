extension CompletionScript {
    var fish: String {
        let programs = commands.map { command in
            "complete -c sluice -f -n __fish_use_subcommand -a \(command.name) -d \(quoted(command.summary))"
        }
        let lines = commands.flatMap { command in
            let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
            let options = command.options.map { option in
                let value = option.valueName == nil ? "" : " -r"
                return
                    "complete -c sluice \(condition) -l \(option.name)\(value)\(fishValues(option.completion)) -d \(quoted(option.explanation))"
            }
            let arguments = command.arguments.filter { $0.completion != .nothing }
                .map { "complete -c sluice \(condition)\(fishValues($0.completion))" }
            return options + arguments
        }
        return """
            # sluice completion for fish; load it with: sluice completion fish | source
            \((programs + lines).joined(separator: "\n"))
            complete -c sluice -n __fish_use_subcommand -l help -d 'print help'
            complete -c sluice -n __fish_use_subcommand -l version -d 'print the version'
            """
    }

    private func fishValues(_ completion: OptionDescription.Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: " -F"
        case .directories: " -a '(__fish_complete_directories)'"
        case .choices(let words): " -f -a \(quoted(words.joined(separator: " ")))"
        }
    }
}
