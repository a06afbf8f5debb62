import Foundation
import Testing

@testable import SluiceCLI

struct SettingSourcesTests {
    private let file: TemporaryFile

    init() throws {
        file = try TemporaryFile(
            """
            data = /srv/file
            listen = 127.0.0.1:1
            drain = 1s
            users = true
            jwt-issuer = a=https://a.example
            jwt-issuer = b=https://b.example
            """, suffix: ".conf")
    }

    private func sources(_ words: [String], _ environment: [String: String] = [:]) throws -> SettingSources {
        let arguments = try ArgumentParser(ServeCommand.description).parse(words)
        return SettingSources(
            description: ServeCommand.description, arguments: arguments, environment: { environment[$0] })
    }

    @Test func theCommandLineCountsBeforeTheEnvironmentAndThatBeforeTheFile() throws {
        let settings = try sources(
            ["--config=\(file.path)", "--drain=3s"],
            ["SLUICE_DRAIN": "2s", "SLUICE_LISTEN": "127.0.0.1:2", "SLUICE_JWT_ISSUER": "c=https://c,https://d"]
        ).read()
        #expect(settings.values.value("data") == "/srv/file")
        #expect(settings.values.value("listen") == "127.0.0.1:2")
        #expect(settings.values.value("drain") == "3s")
        #expect(settings.values.flag("users"))
        #expect(settings.values.values("jwt-issuer") == ["c=https://c", "https://d"])
        #expect(settings.origin(of: "data") == .file(file.path, line: 1))
        #expect(settings.origin(of: "listen") == .environment("SLUICE_LISTEN"))
        #expect(settings.origin(of: "drain") == .commandLine)
        #expect(settings.origin(of: "worker-id") == nil)
    }

    @Test func theEnvironmentNamesTheFileAndAFlagCanBeTurnedOff() throws {
        let environment = ["SLUICE_CONFIG": file.path]
        #expect(try sources([], environment).read().values.values("jwt-issuer").count == 2)
        #expect(try sources([], environment).read().values.flag("users"))
        #expect(try !sources(["--users=false"], environment).read().values.flag("users"))
        #expect(try !sources([], environment.merging(["SLUICE_USERS": "false"]) { $1 }).read().values.flag("users"))
    }

    @Test(arguments: [
        ("lisen = 127.0.0.1:1", ":1: there is no setting 'lisen'; did you mean 'listen'?"),
        ("DATA = x", ":1: there is no setting 'DATA'; did you mean 'data'?"),
        ("data = x\nLog-Levl = info", ":2: there is no setting 'Log-Levl'; did you mean 'log-level'?"),
        ("\nzebra = 1", ":2: there is no setting 'zebra'; 'sluice serve --help' lists the settings"),
        ("help = true", ":1: there is no setting 'help'"), ("config = x", ":1: there is no setting 'config'"),
        ("data = a\n\ndata = b", ":3: 'data' is set twice, before in line 1"),
        ("dev = yes", ":1: 'dev' is true or false, and not 'yes'"),
        ("data = x\nlisten = here", ":2: --listen is HOST:PORT, such as 127.0.0.1:9080, and 'here' is not"),
        ("data = x\nlog-level = loud", ":2: --log-level is one of verbose, debug, info, warning, error"),
        ("data = x\ntls-key = k.pem", ":2: --tls-certificate and --tls-key belong together"),
        ("data = x\ndrain = soon", ":2: --drain is a length of time"),
        ("data = x\njwt-issuer = https://a.b\njwt-issuer = zebra", ":3: --jwt-issuer is a URL or one of"),
        ("data =", ":1: --data needs a value"), ("data = x\nmax-classes = 0", ":2: --max-classes is a whole number"),
    ])
    func aWrongLineIsNamedByFileAndNumber(text: String, message: String) throws {
        let file = try TemporaryFile(text, suffix: ".conf")
        let error = #expect(throws: CommandError.self) {
            try ServeSettings(try sources(["--config=\(file.path)"]).read())
        }
        #expect(error?.kind == .usage)
        #expect(error?.message.hasPrefix(file.path + message) == true, "\(error?.message ?? "")")
    }

    /// What only the server finds out.
    @Test func theSettingOfAValueThatTheServerRefusesIsNamed() throws {
        let file = try TemporaryFile(
            "data = /srv/data\nlisten = 10.9.8.7:9443\narchive = /srv/data\nworker-id = the\nbackup-to = /srv/data/b\n",
            suffix: ".conf")
        let settings = try sources(["--config=\(file.path)", "--tls-key=/srv/key.pem"]).read()
        for (message, line) in [
            ("cannot listen at 10.9.8.7:9443: this machine does not have that address", ":2: "),
            ("the data folder '/srv/data' cannot be made", ":1: "),
            ("the folder '/srv/data' of the archive is that of the data; name another", ":1: "),
            ("the folder '/srv/data/b' of the backups cannot be made", ":5: "),
        ] {
            #expect(settings.located(message: message) == file.path + line + message)
        }
        // However short a value is.
        let short = try TemporaryFile("worker-id = d\ndata = d\nlisten = h:1\n", suffix: ".conf")
        let few = try sources(["--config=\(short.path)"]).read()
        for (message, line) in [
            ("the data folder 'd' cannot be made", ":2: "), ("cannot listen at h:1: nobody", ":3: "),
            ("cannot find the address of \"h\": no such host", ":3: "), ("the end of the road", ""),
        ] {
            #expect(few.located(message: message) == (line.isEmpty ? "" : short.path + line) + message)
        }
        for message in ["the key /srv/key.pem is of another certificate", "nothing of the kind"] {
            #expect(settings.located(message: message) == message)
        }
    }

    @Test func aWrongVariableIsNamed() throws {
        let error = #expect(throws: CommandError.self) {
            try ServeSettings(try sources(["--data=x"], ["SLUICE_LOG_LEVEL": "loud"]).read())
        }
        #expect(error?.message.hasPrefix("SLUICE_LOG_LEVEL: --log-level is one of") == true, "\(error?.message ?? "")")
        let own = #expect(throws: CommandError.self) {
            try ServeSettings(try sources(["--data=x", "--listen=here"]).read())
        }
        #expect(own?.message.hasPrefix("--listen is HOST:PORT") == true)
    }

    /// Help, file, environment and `--print-config` are made of one table.
    @Test func everyOptionOfTheServerIsASetting() throws {
        let others = ["help"] + SettingSources.options.map(\.name)
        let settings = try sources([]).read()
        #expect(
            settings.options.map(\.name) == ServeCommand.description.options.map(\.name).filter { !others.contains($0) }
        )
        for option in settings.options {
            #expect(settings.text.contains("\n# \(option.name) =") || settings.text.hasPrefix("# \(option.name) ="))
        }
        #expect(ServeSettings.changeable.isSubset(of: settings.options.map(\.name)))
    }

    @Test func whatIsPrintedIsAFileThatMeansTheSameAndHasNoPassword() throws {
        let words = ["--config=\(file.path)", "--worker-id= a # b", "--log-domains=network=off"]
        let settings = try sources(words).read()
        #expect(settings.text.contains("\ndrain = 1s "))
        #expect(settings.text.contains("# \(file.path):3\n"))
        #expect(settings.text.contains("# log-level = info "))
        // Each value of a setting that is repeated has its own line.
        for (name, line) in [("a", 5), ("b", 6)] {
            let setting = "\njwt-issuer = \(name)=https://\(name).example"
            let rest = settings.text.components(separatedBy: setting).last ?? ""
            #expect(rest.prefix { !$0.isNewline }.hasSuffix(" # \(file.path):\(line)"), "\(settings.text)")
        }
        let printed = try TemporaryFile(settings.text, suffix: ".conf")
        let again = try sources(["--config=\(printed.path)"]).read()
        #expect(settings.valuesByName == again.valuesByName && again.valuesByName.count == 7)
        let secret = try sources(["--journal=postgres://ada:s3cret@db.example/x"]).read().text
        #expect(!secret.contains("s3cret") && secret.contains("journal = postgres://ada:…@db.example/x"))
    }

    @Test func variablesThatAreNearlySettingsAreDoubtful() throws {
        #expect(
            try sources([]).doubtfulVariables(["SLUICE_LISTN", "SLUICE_PORT", "SLUICE_LISTEN", "PATH", "SLUICE_SEED"])
                .map(\.nearest) == ["SLUICE_LISTEN"])
    }
}
