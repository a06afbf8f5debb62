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
}
