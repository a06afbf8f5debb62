import Foundation
import Sluice
import TestSupport
import Testing

/// The clients in Python, which were written from PROTOCOL.md alone, against a real server.
@Suite(.serialized)
struct StrangerTests {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Strangers/python/sluice_client.py").standardizedFileURL.path

    private static let jsonScript = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Strangers/python/sluice_json.py").standardizedFileURL.path

    /// The path of Python; nil, after printing why, if the client cannot run.
    private func python() async throws -> String? {
        guard let exit = try await run("python3", ["-c", "import sys, websockets; print(sys.executable)"]) else {
            print("skipped: there is no python3")
            return nil
        }
        guard exit.code == 0, let path = exit.lines.first else {
            print("skipped: python3 has no package websockets (pip install websockets)")
            return nil
        }
        return path
    }

    private func load(_ server: ServerProcess, in folder: String) async throws {
        let planes = folder + "/planes.csv"
        let flights = folder + "/flights.csv"
        try "tail,seats\nN1,55\nN2,NA\n".write(toFile: planes, atomically: true, encoding: .utf8)
        let rows = (0..<2_500).map {
            "\($0),N\($0 % 4),\($0 % 7 == 0 ? "NA" : "\(Double($0) / 4)"),2013-01-01T10:00:00Z"
        }
        try (["id,plane,delay,at"] + rows).joined(separator: "\n").appending("\n")
            .write(toFile: flights, atomically: true, encoding: .utf8)
        for arguments in [
            ["import", server.url(), "Plane", planes, "--key=tail"],
            ["import", server.url(), "Flight", flights, "--key=id", "--link=plane:Plane"],
        ] {
            let exit = try await ChildProcess(Tool.path, arguments).finish()
            guard exit.code == 0 else { throw Failure(exit.diagnostics) }
        }
    }

    /// The objects with their members in an order that both sides share.
    private func objects(_ lines: [String]) throws -> [String] {
        try lines.map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return String(
                decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
        }
    }

    @Test func theStrangerPrintsTheRowsThatTheToolPrints() async throws {
        guard let python = try await python() else { return }
        try await withFolder { folder in
            try await withServer { server in
                try await load(server, in: folder)
                for query in [
                    "Plane", "Flight WHERE delay > 500 SORT(delay DESC) LIMIT(20)", "Flight SORT(id ASC)",
                    "Flight WHERE plane.seats > 50 SORT(id ASC) LIMIT(7) EXCLUDE(at)", "Flight WHERE id < 0",
                ] {
                    let expected = try await Tool.run("query", server.url(), query, "--format=jsonl")
                    let exit = try await ChildProcess(python, [Self.script, server.url(), query]).finish()
                    #expect(exit.code == 0, "\(query): \(exit.diagnostics)")
                    let (own, tool) = (try objects(exit.lines), try objects(expected.lines))
                    let isSorted = query.contains("SORT")
                    #expect(isSorted ? own == tool : own.sorted() == tool.sorted(), "\(query)")
                }
                let refused = try await ChildProcess(python, [Self.script, server.url(), "Boat"]).finish()
                #expect(refused.code == 1)
                #expect(refused.diagnostics.contains("unknownName"))
            }
        }
    }

    @Test func theStrangerOfTheJSONFormPrintsTheRowsThatTheToolPrintsAndWrites() async throws {
        guard let python = try await python() else { return }
        try await withFolder { folder in
            try await withServer { server in
                try await load(server, in: folder)
                let lines = [
                    #"{"op":"insert","class":"Plane","key":"N9","set":{"seats":7}}"#,
                    #"{"op":"update","class":"Plane","key":"N1","add":{"seats":1}}"#,
                ]
                let input = lines.joined(separator: "\n") + "\n"
                let written = try await ChildProcess(
                    python, [Self.jsonScript, server.url(), "--write"], input: input
                ).finish()
                #expect(written.code == 0, "\(written.diagnostics)")
                for query in [
                    "Plane", "Flight WHERE delay > 500 SORT(delay DESC) LIMIT(20)", "Flight",
                    "Flight WHERE plane.seats > 50 SORT(plane.seats DESC, id DESC) LIMIT(7) EXCLUDE(at)",
                    "Flight TOTAL SORT(delay ASC, at DESC) LIMIT(3)",
                ] {
                    let expected = try await Tool.run("query", server.url(), query, "--format=jsonl")
                    let exit = try await ChildProcess(python, [Self.jsonScript, server.url(), query]).finish()
                    #expect(exit.code == 0, "\(query): \(exit.diagnostics)")
                    let (own, tool) = (try objects(exit.lines), try objects(expected.lines))
                    let isSorted = query.contains("SORT")
                    #expect(isSorted ? own == tool : own.sorted() == tool.sorted(), "\(query)")
                }
                let refused = try await ChildProcess(python, [Self.jsonScript, server.url(), "Boat"]).finish()
                #expect(refused.code == 1)
                #expect(refused.diagnostics.contains("unknownName"))
            }
        }
    }

    @Test func theStrangerSeesChanges() async throws {
        guard let python = try await python() else { return }
        try await withServer { server in
            try await Fixture.withStore(server.url()) { store in
                try await store.addPlane("N1", seats: 60)
                let watcher = try ChildProcess(
                    python, [Self.script, server.url(), "Plane WHERE seats > 50", "--watch"])
                defer { watcher.signal(9) }
                try await watcher.line(with: #""N1""#, #""seats": 60"#)
                try await store.addPlane("N2", seats: 70)
                try await watcher.line(with: #""changed""#, #""N2""#)
                _ = try await store.found("Plane")
                try await store.addPlane("N1", seats: 61)
                try await watcher.line(with: #""changed""#, #""seats": 61"#)
                try await store.write { try $0.delete(Identity(className: "Plane", key: .string("N1"))) }
                let id = Identity(className: "Plane", key: .string("N1")).objectID.description
                try await watcher.line(with: #""removed""#, id)
            }
        }
    }

    /// What PROTOCOL.md says of an object that is a result and is linked too: it has one role, and leaves in that role.
    @Test func theStrangerKeepsNothingOfAnObjectThatWasRootAndLinked() async throws {
        guard let python = try await python() else { return }
        try await withFolder { folder in
            try await withServer { server in
                let parts = folder + "/parts.csv"
                try "id,size,next\na,60,b\nb,70,NA\n".write(toFile: parts, atomically: true, encoding: .utf8)
                let imported = try await Tool.run(
                    "import", server.url(), "Part", parts, "--key=id", "--link=next:Part")
                #expect(imported.code == 0, "\(imported.diagnostics)")
                let watcher = try ChildProcess(python, [Self.script, server.url(), "Part WHERE size > 50", "--watch"])
                defer { watcher.signal(9) }
                try await watcher.line(with: #""id": "b""#)
                for (line, expected) in [
                    (
                        #"{"op":"update","class":"Part","key":"b","set":{"size":10}}"#,
                        [#""reason": "filter""#, #""held": 2"#]
                    ),
                    (#"{"op":"update","class":"Part","key":"b","set":{"size":80}}"#, [#""size": 80"#, #""held": 2"#]),
                    (#"{"op":"delete","class":"Part","key":"b"}"#, [#""reason": "deleted""#, #""held": 1"#]),
                    // It is linked, and no result, so that nothing is printed.
                    (#"{"op":"insert","class":"Part","key":"b","set":{"size":5}}"#, []),
                    (
                        #"{"op":"update","class":"Part","key":"a","set":{"next":null}}"#,
                        [#""next": null"#, #""held": 1"#]
                    ),
                    (#"{"op":"update","class":"Part","key":"b","set":{"size":90}}"#, [#""size": 90"#, #""held": 2"#]),
                ] {
                    let written = try await ChildProcess(Tool.path, ["write", server.url()], input: line + "\n")
                        .finish()
                    #expect(written.code == 0, "\(line): \(written.diagnostics)")
                    if !expected.isEmpty { try await watcher.line(with: expected[0], expected[1]) }
                }
            }
        }
    }

    /// With users, rules and TLS: what its user may read by what it chooses, and nothing by a login that does not hold.
    @Test func theStrangerChoosesVariablesAndSeesWhatItsUserMay() async throws {
        guard let python = try await python() else { return }
        try await withFolder { folder in
            let made = try await run(
                "openssl",
                ("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test -keyout key.pem "
                    + "-out chain.pem -addext subjectAltName=IP:127.0.0.1")
                    .split(separator: " ").map(String.init), in: folder)
            guard made?.code == 0 else { return print("skipped: there is no openssl command") }
            for (name, text) in [
                ("secret", "correct horse"), ("rules.json", Self.rules),
                (
                    "shops.csv",
                    "id,region,fruit,owner\n1,north,apple,ada\n2,north,fig,ada\n3,south,apple,ada\n4,north,apple,bob\n"
                ),
                ("good", "Basic " + Data("ada:correct horse".utf8).base64EncodedString()),
                ("bad", "Basic " + Data("ada:battery staple".utf8).base64EncodedString()),
            ] { try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8) }
            for user in ["ada", "root"] {
                let arguments = [
                    "users", "add", "--data=\(folder)/data", "--name=\(user)", "--password-file=\(folder)/secret",
                ]
                #expect(try await Tool.run(arguments).code == 0)
            }
            let options = [
                "--users", "--rules=\(folder)/rules.json", "--tls-certificate=\(folder)/chain.pem",
                "--tls-key=\(folder)/key.pem",
            ]
            try await withServer(folder: folder + "/data", options: options, isDevelopment: false) { server in
                let authority = "--ca-file=\(folder)/chain.pem"
                let imported = try await Tool.run([
                    "import", server.url(), "Shop", folder + "/shops.csv", "--key=id", "--user=root",
                    "--password-file=\(folder)/secret", authority,
                ])
                #expect(imported.code == 0, "\(imported.diagnostics)")
                func arguments(_ query: String, login: String = "good", _ more: String...) -> [String] {
                    [Self.script, server.url(), query, authority, "--authorization-file=\(folder)/\(login)"] + more
                }
                let north = #"{"region": "north", "fruits": ["apple", "pear"]}"#
                func keys(_ query: String, _ variables: String) async throws -> [Int] {
                    let exit = try await ChildProcess(python, arguments(query, "--variables", variables)).finish()
                    #expect(exit.code == 0, "\(exit.diagnostics)")
                    return try exit.lines.compactMap { line in
                        let row = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                        return row?["id"] as? Int
                    }.sorted()
                }
                #expect(try await keys("Shop", north) == [1])
                #expect(try await keys("Shop", #"{"region": "north"}"#) == [])
                // What a client chooses is no authority, whatever it says of users, roles and rules.
                for variables in [
                    #"{"region": "north", "fruits": ["apple"], "user": "bob", "id": "bob", "role": "admin"}"#,
                    #"{"region": "north", "fruits": ["apple", "' OR owner == 'bob"]}"#,
                ] { #expect(try await keys("Shop WHERE owner == 'bob' OR TRUEPREDICATE", variables) == [1]) }
                for query in [
                    "Shop WHERE owner == $user.id", "Shop WHERE $role.admin", "Shop WHERE region == $client.region",
                ] {
                    #expect(try await ChildProcess(python, arguments(query, "--variables", north)).finish().code == 1)
                }
                let watcher = try ChildProcess(
                    python,
                    arguments(
                        "Shop", "--variables", north, "--watch", "--then", #"{"region": "south", "fruits": ["apple"]}"#)
                )
                defer { watcher.signal(9) }
                try await watcher.line(with: #""id": 1"#)
                try await watcher.line(with: #""removed": [{"#, #""id": 3"#)
                let refused = try await ChildProcess(python, arguments("Shop", login: "bad")).finish()
                #expect(refused.code == 1 && refused.lines.isEmpty)
            }
        }
    }

    private static let rules = """
        {"roles": {"admin": "$user.id == 'root'"}, "database": {"schema": "$role.admin"},
         "classes": {"Shop": {"create": "$role.admin",
           "read": "$role.admin OR (owner == $user.id AND region == $client.region AND fruit IN $client.fruits)"}}}
        """
}
