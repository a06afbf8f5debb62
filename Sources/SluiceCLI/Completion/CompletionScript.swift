/// Shell completion, made from the descriptions of the commands.
struct CompletionScript {
    /// A shell that a script can be made for.
    enum Shell: String, CaseIterable { case bash, zsh, fish }

    let commands: [CommandDescription]

    /// The script to be sourced by a shell.
    func text(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    var commandNames: String { commands.map(\.name).joined(separator: " ") }
}
