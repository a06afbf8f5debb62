import Testing

@testable import SluiceCLI

/// What the command line refuses about clusters, and what it says instead.
struct ClusterOptionsTests {
    private func refusal(of command: any Command.Type, _ arguments: [String]) throws -> CommandError {
        let parsed = try ArgumentParser(command.description).parse(arguments[...])
        return try #require(throws: CommandError.self) {
            guard command is ServeCommand.Type else {
                _ = try command.init(parsed)
                return
            }
            let found = try SettingSources(description: command.description, arguments: parsed).read()
            _ = try ServeSettings(found)
        }
    }

    @Test(arguments: ["--node=a", "--node-url=wss://a.example", "--journal-listen=none"])
    func `options of a node need a journal`(option: String) throws {
        let error = try refusal(of: ServeCommand.self, ["--data=data", "--dev", option])
        #expect(error.kind == .usage && error.message.contains("--journal=URL"))
    }

    #if !PostgreSQL
        @Test func `a program without PostgreSQL says how to build one with it`() throws {
            let url = "--journal=postgres://sluice@localhost/sluice"
            let error = try refusal(of: ServeCommand.self, ["--data=data", "--dev", url])
            #expect(error.kind == .usage && error.message.contains("--traits PostgreSQL"))
            #expect(error.message.contains("libpq-dev"))
        }
    #endif

    @Test(arguments: [
        (["init"], "--journal=URL is missing"), (["status"], "--journal=URL is missing"),
        (["status", "--print"], "--print is for 'sluice cluster init'"),
        (["status", "--journal=postgres://a/b", "--role=nodes"], "--role is for 'sluice cluster init'"),
        (["verify", "--journal=postgres://a/b"], "name one database"),
        (["verify", "a,b", "--journal=postgres://a/b"], "name one database"),
        (["verify", "a b", "--journal=postgres://a/b"], "no name of a database"),
        (["status", "a", "--journal=postgres://a/b"], "leave the name out"),
        (["verify", "a", "--journal=postgres://a/b", "--data=d"], "--data is for 'sluice cluster adopt'"),
        (["adopt", "--journal=postgres://a/b"], "--data=DIR is missing"),
        (["detach", "--data=d"], "--journal=URL is missing"),
        (["detach", "--data=d", "--offline", "--journal=postgres://a/b"], "leave --journal out"),
        (["adopt", "--data=d", "--offline"], "--offline is for 'sluice cluster detach'"),
        (["adopt", "--data=d", "--again"], "--again is for 'sluice cluster detach'"),
        (["detach", "--data=d", "--offline", "--again"], "leave --again out"),
    ])
    func `options that do not fit are refused`(arguments: [String], message: String) throws {
        let error = try refusal(of: ClusterCommand.self, arguments)
        #expect(error.kind == .usage && error.message.contains(message), "\(error.message)")
    }
}
