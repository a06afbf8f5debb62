internal import SluiceModel

/// Makes the manual page from the descriptions of the commands, in the language of man(7).
struct ManualPage {
    let commands: [CommandDescription]

    /// The source of the page `sluice(1)`.
    var text: String {
        """
        .\\" Made by 'sluice manual' from the table that help is made from.
        .TH SLUICE 1 "" "sluice \(SluiceRelease.version)" "User Commands"
        .ad l
        .nh
        .SH NAME
        sluice \\- sync the objects that queries ask for, between a server and the stores that observe it
        .SH SYNOPSIS
        .B sluice
        .I COMMAND
        [\\fIARGUMENTS\\fR] [\\fB\\-\\-\\fIOPTION\\fB=\\fIVALUE\\fR]
        .SH DESCRIPTION
        A URL names a server and a database: ws://HOST:PORT/DATABASE, or wss:// for TLS.
        Output is for people on a terminal and for programs elsewhere; diagnostics go to stderr.
        .SH COMMANDS
        \(commands.map(section).joined(separator: "\n"))
        .SH ENVIRONMENT
        .TP
        .B SLUICE_USER, SLUICE_PASSWORD, SLUICE_TOKEN, SLUICE_SECRET
        who the user of a command is, where no option says so
        .TP
        .B SLUICE_CONFIG
        the file with the settings of \\fBsluice serve\\fR
        .TP
        .B SLUICE_\\fINAME\\fR
        a setting of \\fBsluice serve\\fR: SLUICE_LOG_LEVEL for \\-\\-log\\-level
        .SH EXIT STATUS
        0 for success, 64 for bad options or a query that does not parse, 1 for any other failure.

        """
    }

    private func section(_ command: CommandDescription) -> String {
        let entries =
            command.words.map { ($0.name, $0.summary) } + command.options.map { ($0.usage, $0.explanation) }
        let table = entries.map { ".TP\n.B \(escaped($0.0))\n\(escaped($0.1))" }
        let notes = command.notes.map { ".PP\n\(escaped($0))" }
        let examples = command.examples.map { ".PP\n.EX\n\(escaped($0))\n.EE" }
        return ([".SS \(escaped(command.usage))", escaped(command.summary)] + table + notes + examples)
            .joined(separator: "\n")
    }

    /// A character beyond ASCII by its number, of four digits or more (groff_char(7)).
    private static func named(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
    }

    /// The text as man(7) shows it unchanged: hyphens that can be copied, and no line that is a request.
    private func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
            default: result += Self.named(scalar)
            }
        }
        return result.hasPrefix(".") || result.hasPrefix("'") ? "\\&" + result : result
    }
}
