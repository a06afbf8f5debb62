import Foundation
import TestSupport
import Testing

@testable import SluiceCLI

/// `sluice rules deploy`, `history` and `rollback` at a server, which is one for development: it takes the first rules.
@Suite(.serialized)
struct RulesDeploymentTests {
    private static let airlines = "carrier,name\nAA,American\n"

    private func rules(_ classes: String) throws -> TemporaryFile {
        try TemporaryFile(
            "{\"database\": {\"schema\": true, \"reports\": true, \"rules\": true}, \"classes\": {\(classes)}}")
    }

    private func prepare(_ server: ServerProcess, _ names: String...) async throws {
        let file = try TemporaryFile(Self.airlines)
        for name in names {
            let made = try await Tool.run("import", server.url(name), "Airline", file.path, "--key=carrier")
            #expect(made.code == 0, "\(made.diagnostics)")
        }
    }

    @Test func warningsEndAStrictDeploymentBeforeAnythingIsStored() async throws {
        try await withServer { server in
            try await prepare(server, "nyc")
            let wrong = try rules("\"Airline\": {\"read\": true},\n\"Airlin\": {\"read\": true},\n\"Plane\": {}")
            let refused = try await Tool.run("rules", "deploy", server.url("nyc"), wrong.path, "--strict")
            #expect(refused.code == 1)
            let lines = refused.diagnostics.split(separator: "\n").map(String.init)
            #expect(
                lines.contains(
                    "sluice: \(wrong.path):2:1: classes.Airlin: there is no class 'Airlin'; did you mean 'Airline'?"))
            #expect(lines.contains { $0.hasPrefix("sluice: \(wrong.path):3:1: classes.Plane: there is no class") })
            #expect(lines.last == "sluice: \(wrong.path): 2 warnings, and --strict")
            #expect(try await Tool.run("rules", "show", server.url("nyc")).code == 1)
            let told = try await Tool.run("rules", "deploy", server.url("nyc"), wrong.path)
            #expect(told.code == 0 && told.diagnostics.contains("there is no class 'Airlin'"))
            #expect(told.diagnostics.contains("version 1 holds now"))
            let right = try rules("\"Airline\": {\"read\": true}")
            let stored = try await Tool.run("rules", "deploy", server.url("nyc"), right.path, "--strict")
            #expect(stored.code == 0 && stored.diagnostics.contains("version 2 holds now"))
        }
    }

    @Test func eachProblemOfARefusedFileIsOnALineWithItsPlace() async throws {
        try await withServer { server in
            try await prepare(server, "nyc")
            let broken = try TemporaryFile(
                "{\"classes\": {\n\"Airline\": {\"read\": \"a ==\"},\n\"Plane\": {\"reed\": true}}}")
            let refused = try await Tool.run("rules", "deploy", server.url("nyc"), broken.path)
            #expect(refused.code == 1)
            let lines = refused.diagnostics.split(separator: "\n")
            #expect(lines.count == 2, "\(lines)")
            #expect(lines[0].hasPrefix("sluice: \(broken.path):2:"))
            #expect(lines.count == 2 && lines[1].hasPrefix("sluice: \(broken.path):3:"))
        }
    }

    @Test func formerRulesAreListedShownAndStoredAgain() async throws {
        try await withServer { server in
            try await prepare(server, "nyc")
            let url = server.url("nyc")
            for condition in ["true", "\"name != 'x'\""] {
                let file = try rules("\"Airline\": {\"read\": \(condition)}")
                #expect(try await Tool.run("rules", "deploy", url, file.path).code == 0)
            }
            let shown = try await Tool.run("rules", "show", url, "--version=1")
            #expect(shown.code == 0 && !shown.lines.joined().contains("name"))
            #expect(try await Tool.run("rules", "show", url).lines.joined().contains("name"))
            let trial = try await Tool.run("rules", "rollback", url, "--version=1", "--dry-run")
            #expect(trial.lines == ["~ classes.Airline.read: name != 'x' → TRUEPREDICATE"])
            let back = try await Tool.run("rules", "rollback", url, "--version=1")
            #expect(back.code == 0 && back.diagnostics.contains("version 3 holds now"), "\(back.diagnostics)")
            let history = try await Tool.run("rules", "history", url).lines
            #expect(history.map { $0.split(separator: "\t").first } == ["3", "2", "1"])
            #expect(history.first?.hasSuffix("\tholds, the same as version 1") == true)
            for line in history {
                let columns = line.split(separator: "\t")
                #expect(columns.count >= 4 && columns[2] == "nobody in particular", "\(line)")
                #expect(columns.count >= 4 && columns[1].contains("T") && columns[1].hasSuffix("Z"), "\(line)")
            }
            let missing = try await Tool.run("rules", "rollback", url, "--version=9")
            #expect(missing.code == 1 && missing.diagnostics.contains("the database has versions 1 to 3"))
            #expect(try await Tool.run("rules", "rollback", url).code == 64)
            #expect(try await Tool.run("rules", "show", url, "--version=0").code == 64)
        }
    }

    @Test func aMistypedNameMakesNoDatabaseUnlessAsked() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try await prepare(server, "nyc")
                let file = try rules("\"Airline\": {\"read\": true}")
                let databases = ["databases", "list", "--data=\(folder)", "--format=table"]
                for arguments in [["--strict"], ["--dry-run"], []] {
                    let refused = try await Tool.run(["rules", "deploy", server.url("nycc"), file.path] + arguments)
                    #expect(refused.code == 1)
                    #expect(
                        refused.diagnostics
                            == "sluice: the server has no database 'nycc'; did you mean 'nyc'? --create makes this one"
                    )
                }
                // Neither does a command that stores nothing there, or that needs classes.
                let typo = server.url("nycc")
                for arguments in [
                    ["query", typo, "Airline"], ["status", typo], ["schema", typo], ["rules", "show", typo],
                    ["rules", "history", typo], ["rules", "rollback", typo, "--version=1"], ["write", typo],
                    ["explain", typo, "Airline"], ["subscriptions", typo], ["export", typo, "Airline"],
                    ["can", typo, "ada", "read", "Airline/AA"], ["consumers", typo], ["queues", typo],
                ] {
                    let refused = try await Tool.run(arguments)
                    #expect(refused.code == 1, "\(arguments)")
                    #expect(refused.diagnostics.contains("no database 'nycc'; did you mean 'nyc'?"), "\(refused)")
                }
                #expect(try await Tool.run(databases).lines.count == 1)
                let made = try await Tool.run("rules", "deploy", server.url("other"), file.path, "--create")
                #expect(made.code == 0 && made.diagnostics.contains("version 1 holds now"), "\(made.diagnostics)")
                #expect(try await Tool.run(databases).lines.count == 2)
                for wrong in [
                    ["rules", "history", server.url("nyc"), "--create"],
                    ["rules", "deploy", "ws://127.0.0.1:1", file.path, "--all", "--data=\(folder)", "--create"],
                ] { #expect(try await Tool.run(wrong).code == 64, "\(wrong)") }
            }
        }
    }

    @Test func whatMakesADatabaseSaysSo() async throws {
        try await withServer { server in
            let file = try TemporaryFile(Self.airlines)
            let arguments = ["import", server.url("nyc"), "Airline", file.path, "--key=carrier"]
            let made = try await Tool.run(arguments)
            #expect(made.code == 0 && made.diagnostics.contains("note: the database 'nyc' is new"), "\(made)")
            let again = try await Tool.run(arguments)
            #expect(again.code == 0 && !again.diagnostics.contains("is new"))
        }
    }

    @Test func rulesAreStoredInAllDatabasesOfAServer() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try await prepare(server, "one", "two")
                let file = try rules("\"Airline\": {\"read\": true}")
                let address = String(server.url("one").dropLast("/one".count))
                let stored = try await Tool.run(
                    "rules", "deploy", address, file.path, "--all", "--data=\(folder)", "--strict")
                #expect(stored.code == 0, "\(stored.diagnostics)")
                for name in ["one", "two"] {
                    #expect(stored.diagnostics.contains("\(name): version 1 holds now"))
                    #expect(try await Tool.run("rules", "show", server.url(name)).code == 0)
                }
                // A warning in one database keeps the rules from all.
                let wrong = try rules("\"Nobody\": {\"read\": true}")
                let refused = try await Tool.run(
                    "rules", "deploy", address, wrong.path, "--all", "--data=\(folder)", "--strict")
                #expect(refused.code == 1 && refused.diagnostics.contains("2 warnings"))
                #expect(!refused.diagnostics.contains("holds now"))
                let url = server.url("one")
                #expect(try await Tool.run("rules", "deploy", url, file.path, "--all", "--data=\(folder)").code == 64)
                #expect(try await Tool.run("rules", "deploy", address, file.path, "--all").code == 64)
            }
        }
    }

    @Test func canNamesTheRuleOfAProperty() async throws {
        try await withServer { server in
            try await prepare(server, "nyc")
            let file = try rules(
                "\"Airline\": {\"read\": true, \"update\": true, \"fields\": {\"name\": {\"write\": \"name == 'x'\"}}}")
            #expect(try await Tool.run("rules", "deploy", server.url("nyc"), file.path).code == 0)
            let asked = try await Tool.run(
                "can", server.url("nyc"), "ada", "update", "Airline/AA", "--set={\"name\": \"y\"}", "--format=table")
            #expect(asked.code == 1)
            #expect(asked.lines.first == "denied: Airline.name may not be written: the rule 'Airline.name.write' fails")
            #expect(asked.lines.contains("name.write fails: name == 'x'"))
            let open = try await Tool.run("can", server.url("nyc"), "ada", "update", "Airline/AA", "--format=table")
            #expect(open.lines.contains("not these properties: name"))
            #expect(open.lines.contains("name.write fails: name == 'x'"))
        }
    }
}
