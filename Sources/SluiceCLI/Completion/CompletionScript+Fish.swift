extension CompletionScript {
    var fish: String {
        let programs = commands.map { command in
            "complete -c sluice -f -n __fish_use_subcommand -a \(command.name) -d \(quoted(command.summary))"
        }
        return """
            # sluice completion for fish; load it with: sluice completion fish | source

            # Prints the options of a command that have values.
            function __sluice_values
                switch $argv[1]
            \(commands.map(fishValueNames).joined(separator: "\n"))
                end
            end

            # Prints what comes next: option, program, or the number of the argument.
            function __sluice_next
                set -l words (commandline -opc)
                set -l count 1
                set -l is_value 0
                for word in $words[3..-1]
                    if test $is_value = 1
                        set is_value 0
                    else if test "$word" = --
                        echo program
                        return
                    else if string match -q -- '-*' $word
                        contains -- $word (__sluice_values $words[2]); and set is_value 1
                    else
                        set count (math $count + 1)
                    end
                end
                test $is_value = 1; and echo value; or echo $count
            end

            # Whether the command is one, and what comes next another.
            function __sluice_is
                set -l words (commandline -opc)
                test (count $words) -gt 1; and test "$words[2]" = $argv[1]; or return 1
                set -l next (__sluice_next)
                if set -q argv[2]
                    test $next = $argv[2]
                else
                    test $next != program
                end
            end

            complete -c sluice -f
            \((programs + commands.flatMap(fishLines)).joined(separator: "\n"))
            complete -c sluice -n __fish_use_subcommand -l help -d 'print help'
            complete -c sluice -n __fish_use_subcommand -l version -d 'print the version'
            """
    }

    private func fishValueNames(_ command: CommandDescription) -> String {
        let names = command.valueOptions
        return "        case \(command.name)\n            "
            + (names.isEmpty ? "return" : "printf '%s\\n' \(names.joined(separator: " "))")
    }

    private func fishLines(_ command: CommandDescription) -> [String] {
        let options = command.options.map { option in
            let value = option.valueName == nil ? "" : " -r"
            return "complete -c sluice -n '__sluice_is \(command.name)' -l \(option.name)\(value)"
                + "\(fishValues(option.completion)) -d \(quoted(option.explanation))"
        }
        let arguments = command.arguments.enumerated().filter { $0.element.completion != .nothing }
            .map { index, argument in
                "complete -c sluice -n '__sluice_is \(command.name) \(index + 1)'\(fishValues(argument.completion))"
            }
        let program =
            command.program == nil
            ? []
            : [
                "complete -c sluice -n '__sluice_is \(command.name) program' -F -a '(__fish_complete_command)'"
            ]
        return options + arguments + program
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
