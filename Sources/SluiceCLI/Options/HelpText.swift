/// Makes the text of `--help` from the descriptions of the commands.
enum HelpText {
    /// Help for the program, with a list of its commands.
    static func program(_ commands: [CommandDescription]) -> String {
        let entries = commands.map { (left: $0.name, right: $0.summary) }
        return """
            sluice syncs the objects that queries ask for, between a server and the stores that observe it.

            Usage: sluice COMMAND …

            Commands:
            \(columns(entries))

            Options:
            \(columns([
                (left: "--help", right: "print this help"), (left: "--version", right: "print the version"),
            ]))

            A URL names a server and a database: ws://HOST:PORT/DATABASE, or wss:// for TLS.
            Output is for people on a terminal and for programs elsewhere; diagnostics go to stderr.
            Exit code: 0 success, 64 bad options or a query that does not parse, 1 any other failure.

            'sluice help COMMAND' and 'sluice COMMAND --help' explain a command and show examples.
            """
    }

    /// Help for one command.
    static func command(_ command: CommandDescription) -> String {
        var sections = ["\(command.summary)\n\nUsage: \(command.usage)"]
        if !command.words.isEmpty {
            sections.append("Arguments:\n" + columns(command.words.map { ($0.name, $0.summary) }))
        }
        sections.append("Options:\n" + columns(command.options.map { ($0.usage, $0.explanation) }))
        sections += command.notes.map { wrap($0, width: 100).joined(separator: "\n") }
        sections.append("Examples:\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
        return sections.joined(separator: "\n\n")
    }

    private static func columns(_ entries: [(left: String, right: String)]) -> String {
        let width = min(entries.map(\.left.count).max() ?? 0, 28)
        return entries.map { entry in
            let lines = wrap(entry.right, width: 96 - width)
            let indentation = String(repeating: " ", count: width + 4)
            let left = "  " + entry.left
            let first =
                left.count > width + 2
                ? "\(left)\n\(indentation)" : left + String(repeating: " ", count: width + 4 - left.count)
            return first + lines.joined(separator: "\n\(indentation)")
        }.joined(separator: "\n")
    }

    private static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = ""
            }
            line += line.isEmpty ? String(word) : " \(word)"
        }
        return lines + [line]
    }
}
