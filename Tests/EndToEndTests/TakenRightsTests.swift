import Foundation
import Glibc
import SluiceModel
import SluiceRules
import SluiceWire
import TestSupport
import Testing

/// A user's record changes while the user's sessions are open: what was a right is none any more, without a new login.
@Suite(.serialized)
struct TakenRightsTests {
    /// An administrator has all rights.
    private static let rules = """
        {"roles": {"admin": "$user.claims.role == 'admin'"},
         "database": {\(DatabaseRight.allCases.map { "\"\($0.rawValue)\": \"$role.admin\"" }.joined(separator: ", "))},
         "classes": {"Plane": {"read": "$role.admin", "create": "$role.admin"}}}
        """

    /// What is done to the user, as arguments of `sluice users`.
    enum Change: String, CaseIterable, Sendable {
        case claims, revoke, remove, passwd
    }

    private func password(_ text: String, in folder: String) throws -> String {
        let path = "\(folder)/\(text).password"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return "--password-file=\(path)"
    }

    private func users(_ action: String, _ folder: String, _ options: [String]) async throws {
        let exit = try await Tool.run(["users", action, "--data=\(folder)/data", "--name=ada"] + options)
        guard exit.code == 0 else { throw Failure(exit.diagnostics) }
    }

    private func open(_ server: ServerProcess) throws -> RawPeer {
        let peer = try RawPeer(server.port)
        try peer.upgrade(header: "Authorization: Basic \(Data("ada:first secret".utf8).base64EncodedString())")
        peer.send(
            .hello(.init(features: .all, agent: "test")),
            .open(.init(session: 1, path: "test", options: [], schema: try Schema([Fixture.plane.get()]))))
        _ = try peer.receive { if case .opened(let opened) = $0 { opened } else { nil } }
        return peer
    }

    /// What a server says to one who uses a right.
    private enum Answer {
        case given, denied, over
    }

    /// A message that takes a right, made with the number of its request.
    private typealias Trial = (name: String, message: (UInt64) -> ClientMessage)

    private static func trials(of right: DatabaseRight) -> [Trial] {
        switch right {
        case .schema:
            [
                (
                    "removal",
                    { .remove(.init(session: 1, request: $0, className: "Plane", property: "none of these")) }
                )
            ]
        case .reports: [("reports", { .reportRequest(.init(session: 1, request: $0, topic: .status)) })]
        case .rules:
            [
                ("rules", { .reportRequest(.init(session: 1, request: $0, topic: .rules)) }),
                (
                    "deployment",
                    { .deploy(.init(session: 1, request: $0, isTrial: true, file: Array(rules.utf8))) }
                ),
            ]
        case .messages:
            [
                ("listening", { .listen(.init(session: 1, request: $0, topics: ["room"])) }),
                ("sending", { .message(.init(session: 1, request: $0, topic: "room", payload: [1])) }),
            ]
        case .jobs:
            [
                ("records", { .job(.init(session: 1, request: $0, question: .spaces(prefix: ""))) }),
                ("changes", { .job(.init(session: 1, request: $0, question: .apply([]))) }),
            ]
        }
    }

    private static var trials: [Trial] { DatabaseRight.allCases.flatMap(trials(of:)) }

    /// What a peer has of the rights that the rules give, by trying each of them; nil if its session is over.
    private func tried(_ peer: RawPeer, _ round: UInt64) throws -> [String: Bool]? {
        let first = round * 100
        var rights: [String: Bool] = [:]
        for (index, (name, message)) in Self.trials.enumerated() {
            let number = first + UInt64(index) + 1
            peer.send(message(number))
            let answer: Answer
            do {
                answer = try peer.receive { message in
                    switch message {
                    case .report(_, number, _): .given
                    // Whoever may remove a property is told that it is not there.
                    case .reportError(let error) where error.request == number:
                        error.code == .unknownName ? .given : .denied
                    case .error(let error) where error.action == .stop: .over
                    default: nil
                    }
                }
            } catch is RawPeer.Closed {
                return nil
            }
            guard answer != .over else { return nil }
            rights[name] = answer == .given
        }
        return rights
    }

    @Test(arguments: Change.allCases) func everyOpenSessionLosesWhatItsUserLoses(change: Change) async throws {
        try await withFolder { folder in
            try Self.rules.write(toFile: folder + "/rules.json", atomically: true, encoding: .utf8)
            let secret = try password("first secret", in: folder)
            try await users("add", folder, [secret, #"--claims={"role":"admin"}"#])
            let options = ["--users", "--rules=\(folder)/rules.json"]
            try await withServer(folder: folder + "/data", options: options, isDevelopment: false) { server in
                let peers = [try open(server), try open(server)]
                for peer in peers {
                    let rights = try #require(try tried(peer, 1))
                    #expect(rights.count == Self.trials.count && rights.values.allSatisfy { $0 }, "\(rights)")
                }
                switch change {
                case .claims: try await users("claims", folder, ["--claims={}"])
                case .revoke, .remove: try await users(change.rawValue, folder, [])
                case .passwd: try await users("passwd", folder, [try password("second secret", in: folder)])
                }
                for peer in peers {
                    var round: UInt64 = 2
                    try await wait(for: "the rights to be taken") {
                        round += 1
                        guard let rights = try tried(peer, round) else { return change != .claims }
                        return change == .claims && rights.values.allSatisfy { !$0 }
                    }
                }
                guard change == .claims else { return }
                // What is given back is there again, also without a new login.
                try await users("claims", folder, [#"--claims={"role":"admin"}"#])
                try await wait(for: "the rights to be back") {
                    try tried(peers[0], UInt64.random(in: 1_000...1_000_000_000))?.values.allSatisfy { $0 } ?? false
                }
            }
        }
    }

    @Test func whatIsReadLeavesAWatcherWithTheClaimThatAllowedIt() async throws {
        try await withFolder { folder in
            try Self.rules.write(toFile: folder + "/rules.json", atomically: true, encoding: .utf8)
            let secret = try password("first secret", in: folder)
            try await users("add", folder, [secret, #"--claims={"role":"admin"}"#])
            let options = ["--users", "--rules=\(folder)/rules.json"]
            try await withServer(folder: folder + "/data", options: options, isDevelopment: false) { server in
                let file = folder + "/planes.csv"
                try "tail,seats\nN1,5\n".write(toFile: file, atomically: true, encoding: .utf8)
                let login = ["--user=ada", secret]
                let imported = try await Tool.run(["import", server.url(), "Plane", file, "--key=tail"] + login)
                #expect(imported.code == 0, "\(imported.diagnostics)")
                let watcher = try ChildProcess(
                    Tool.path, ["query", server.url(), "Plane", "--watch", "--format=jsonl"] + login, input: nil)
                defer { watcher.signal(SIGKILL) }
                // The row may come with the event that says so, or before it.
                try await watcher.line(with: "\"state\":\"complete\"")
                try await users("claims", folder, ["--claims={}"])
                try await watcher.line(with: "\"reason\":\"permission\"")
            }
        }
    }
}
