import SluiceServer
import Testing

@testable import SluiceCLI

/// What the command line takes and refuses about backups.
struct BackupOptionsTests {
    private func refusal(of command: any Command.Type, _ arguments: [String]) throws -> CommandError {
        try #require(throws: CommandError.self) {
            let parsed = try ArgumentParser(command.description).parse(arguments[...])
            guard command is ServeCommand.Type else {
                _ = try command.init(parsed)
                return
            }
            let found = try SettingSources(description: command.description, arguments: parsed).read()
            _ = try ServeSettings(found, isReadingAgain: true)
        }
    }

    private func configuration(_ arguments: [String]) throws -> ServerConfiguration {
        var configuration = ServerConfiguration()
        let parsed = try ArgumentParser(ServeCommand.description).parse(arguments[...])
        try BackupOptions.apply(parsed, to: &configuration)
        return configuration
    }

    @Test func `backups have a time and a number unless others are given`() throws {
        let usual = try #require(try configuration(["--backup-to=b"]).backups)
        #expect(usual == ScheduledBackups(folder: "b", interval: .seconds(21_600), keptCount: 28))
        let other = try configuration(["--backup-to=b", "--backup-every=1d", "--backup-keep=7", "--archive=a"])
        #expect(other.backups == ScheduledBackups(folder: "b", interval: .seconds(86_400), keptCount: 7))
        #expect(other.archive == "a")
        #expect(try configuration([]).backups == nil)
    }

    @Test(arguments: [
        (["--backup-every=6h"], "--backup-to=DIR"), (["--backup-keep=6"], "--backup-to=DIR"),
        (["--backup-to=b", "--backup-keep=0"], "above 0"),
        (["--backup-to=b", "--backup-every=10ms"], "a second or more"),
        (["--backup-to=b", "--backup-every=often"], "length of time"),
    ])
    func `options of serve that do not fit are refused`(arguments: [String], message: String) throws {
        let error = try refusal(of: ServeCommand.self, ["--data=data", "--dev"] + arguments)
        #expect(error.kind == .usage && error.message.contains(message), "\(error.message)")
    }

    @Test(arguments: [
        ([], "--data=DIR is missing"), (["--data=d"], "--to=FILE is missing"),
        (["--data=d", "--to=f", "--temporary=t"], "--temporary is for"), (["verify"], "FILE is missing"),
        (["look", "f"], "ACTION is one of verify"), (["verify", "f", "--data=d"], "--data is for making"),
    ])
    func `options of backup that do not fit are refused`(arguments: [String], message: String) throws {
        let error = try refusal(of: BackupCommand.self, arguments)
        #expect(error.kind == .usage && error.message.contains(message), "\(error.message)")
    }

    @Test(arguments: [
        ("5", ["a"], "given"), ("5", [], "--database=NAME"), ("5", ["a", "b"], "--database=NAME"),
        ("2026-11-27T10:00:00Z", [], "given"), ("2026-11-27T10:00:00.5+01:00", [], "given"),
        ("2026-11-27T10:00:00", [], "is neither"), ("2026-11-27", [], "is neither"), ("yesterday", [], "is neither"),
        ("2026-02-30T10:00:00Z", [], "is neither"), ("-4", ["a"], "is neither"),
    ])
    func `until is a time with a zone, or a version of one database`(
        until: String, names: [String], message: String
    ) throws {
        let arguments = ["f", "--data=d", "--archive=a", "--until=\(until)"] + names.map { "--database=\($0)" }
        guard message != "given" else {
            _ = try RestoreCommand(ArgumentParser(RestoreCommand.description).parse(arguments[...]))
            return
        }
        let error = try refusal(of: RestoreCommand.self, arguments)
        #expect(error.kind == .usage && error.message.contains(message), "\(error.message)")
    }
}
