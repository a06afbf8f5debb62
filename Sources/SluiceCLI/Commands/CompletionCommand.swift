/// `sluice completion bash|zsh|fish`.
struct CompletionCommand: Command {
    static let description = CommandDescription(
        "completion", "Print a script that completes sluice's commands and options in a shell.",
        arguments: [
            ArgumentDescription(
                "SHELL", "bash, zsh or fish", completion: .choices(CompletionScript.Shell.allCases.map(\.rawValue)))
        ],
        examples: [
            "source <(sluice completion bash)", "sluice completion zsh > ~/.zfunc/_sluice",
            "sluice completion fish | source",
        ])

    private let shell: CompletionScript.Shell

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let shell = CompletionScript.Shell(rawValue: arguments.positionals[0]) else {
            throw .usage("there is no completion for '\(arguments.positionals[0])'")
        }
        self.shell = shell
    }

    func run() async throws {
        let script = CompletionScript(commands: Program.sluice.descriptions)
        StandardOutput.shared.write(line: script.text(for: shell))
    }
}
