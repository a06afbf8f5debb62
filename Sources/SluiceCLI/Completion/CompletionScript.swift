/// Makes scripts for shell completion from the descriptions of the commands.
struct CompletionScript {
    /// A shell that has a completion script.
    enum Shell: String, CaseIterable { case bash, zsh, fish }

    let commands: [CommandDescription]

    /// The script that the shell sources.
    func text(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    var commandNames: String { commands.map(\.name).joined(separator: " ") }

    /// The commands that run a program which follows `--`.
    var programCommandNames: [String] { commands.filter { $0.program != nil }.map(\.name) }
}

extension CommandDescription {
    /// The options that have values, with their dashes.
    var valueOptions: [String] { options.filter { $0.valueName != nil }.map { "--\($0.name)" } }
}
