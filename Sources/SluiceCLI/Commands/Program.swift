internal import Sluice
internal import SluiceExchange
internal import SluiceModel

/// The program: it finds the command, runs it, and turns an error into a diagnostic and an exit code.
struct Program: Sendable {
    /// All commands of the tool.
    static let sluice = Program([
        ServeCommand.self, BackupCommand.self, RestoreCommand.self, ClusterCommand.self, UsersCommand.self,
        DatabasesCommand.self, RulesCommand.self, ImportCommand.self, ExportCommand.self, QueryCommand.self,
        WriteCommand.self, RunCommand.self, ConsumersCommand.self, QueuesCommand.self, SubscriptionsCommand.self,
        StatusCommand.self, TopCommand.self, SessionsCommand.self,
        LogLevelCommand.self, ReloadCommand.self, DrainCommand.self,
        SchemaCommand.self, ExplainCommand.self, CanCommand.self,
        CompletionCommand.self, ManualCommand.self,
    ])

    private let commands: [any Command.Type]

    init(_ commands: [any Command.Type]) { self.commands = commands }

    var descriptions: [CommandDescription] { commands.map { $0.description } }

    /// - Parameter arguments: the arguments after the program's name.
    /// - Returns: the exit code.
    func run(_ arguments: [String]) async -> Int32 {
        do {
            try await dispatch(arguments)
            StandardOutput.shared.flush()
            return 0
        } catch {
            StandardOutput.shared.flush()
            let failure = CommandError(error)
            Diagnostics.report(failure.message)
            return failure.kind.rawValue
        }
    }

    private func dispatch(_ arguments: [String]) async throws {
        guard let name = arguments.first else {
            throw CommandError.usage("a command is missing; 'sluice --help' lists the commands")
        }
        switch name {
        case "--help", "-h": return StandardOutput.shared.write(line: HelpText.program(descriptions))
        case "--version": return StandardOutput.shared.write(line: "sluice \(SluiceRelease.version)")
        case "help": return try help(arguments.dropFirst())
        default: break
        }
        let command = try self.command(name)
        let parsed = try ArgumentParser(command.description).parse(arguments.dropFirst())
        if parsed.flag("help") { return StandardOutput.shared.write(line: HelpText.command(command.description)) }
        try await command.init(parsed).run()
    }

    /// `sluice help [COMMAND]`: prints the same as `--help`.
    private func help(_ names: ArraySlice<String>) throws(CommandError) {
        guard let name = names.first, name != "help", name != "--help", name != "-h" else {
            return StandardOutput.shared.write(line: HelpText.program(descriptions))
        }
        guard names.count == 1 else { throw .usage("help is about one command: sluice help COMMAND") }
        StandardOutput.shared.write(line: HelpText.command(try command(name).description))
    }

    private func command(_ name: String) throws(CommandError) -> any Command.Type {
        guard let command = commands.first(where: { $0.description.name == name }) else { throw unknown(name) }
        return command
    }

    private func unknown(_ name: String) -> CommandError {
        let what = name.hasPrefix("-") ? "option" : "command"
        let names = descriptions.map(\.name)
        let hint =
            Suggestion.closest(to: name, among: names).map { "did you mean '\($0)'?" }
            ?? "'sluice --help' lists the commands"
        return .usage("there is no \(what) '\(DisplayText.shortened(name))'; \(hint)")
    }
}
