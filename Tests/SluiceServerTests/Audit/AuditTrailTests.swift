import Foundation
import Glibc
import SluiceJSON
import SluiceModel
import Synchronization
import Testing

@testable import SluiceServer

/// Keeps events in memory.
final class EventList: AuditReceiver {
    private let events = Mutex<[AuditEvent]>([])

    var all: [AuditEvent] { events.withLock { $0 } }

    func receive(_ event: AuditEvent) { events.withLock { $0.append(event) } }
}

/// Keeps log lines in memory.
private final class LogCollector: LogReceiver {
    private let received = Mutex<[LogLine]>([])

    var lines: [LogLine] { received.withLock { $0 } }

    func receive(_ line: LogLine) { received.withLock { $0.append(line) } }
}

/// A clock and a schedule that only the test moves.
private final class AuditClock: Sendable {
    private let due = Mutex<[@Sendable () -> Void]>([])
    private let time = Mutex<Int64>(1_700_000_000_000_000)

    var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

    func schedule(_ body: @escaping @Sendable () -> Void) { due.withLock { $0.append(body) } }

    /// Lets time pass, and nobody notices.
    func move(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }

    /// Lets a minute pass.
    func advance() {
        move(seconds: 60)
        let bodies = due.withLock { due in
            defer { due = [] }
            return due
        }
        for body in bodies { body() }
    }
}

struct AuditTrailTests {
    private let list = EventList()
    private let clock = AuditClock()

    private func trail() -> AuditTrail {
        AuditTrail(list, now: { [clock] in clock.now }, schedule: { [clock] delay, body in clock.schedule(body) })
    }

    private func refuse(_ trail: AuditTrail, _ user: String, _ address: String) {
        trail.note(
            .loginRefused(method: .password), user: user, address: address, outcome: .refused, reason: "it is wrong")
    }

    @Test func refusalsOfOneAddressAreFoldedWhateverNamesItTries() {
        let trail = trail()
        for number in 1...1_000 { refuse(trail, "user\(number)", "10.0.0.1") }
        refuse(trail, "ada", "10.0.0.2")
        #expect(list.all.map(\.user) == ["user1", "ada"])
        clock.move(seconds: 20)
        refuse(trail, "ada", "10.0.0.1")
        let time = clock.now
        clock.advance()
        #expect(list.all.count == 3)
        let folded = list.all[2]
        #expect(folded.count == 1_000 && folded.user == nil && folded.address == "10.0.0.1")
        // When the last of them happened, and not when they were counted.
        #expect(folded.time == time)
        // The next minute begins anew.
        refuse(trail, "ada", "10.0.0.1")
        #expect(list.all.count == 4)
        clock.advance()
        clock.advance()
        #expect(list.all.count == 4)
    }

    @Test func clientsFillNoDiskFromManyAddressesAndHideNothingThatOperatorsDo() {
        let trail = trail()
        let countMax = AuditTrail.lineCountMax
        for number in 0..<3 * countMax { refuse(trail, "ada", "address \(number)") }
        #expect(list.all.count == countMax)
        trail.note(.rulesDeployed(version: 2, former: 1), user: "root", database: "shop")
        for number in 0..<2 * countMax { trail.note(.userChanged(.revoked, user: "user \(number)")) }
        #expect(list.all.count == 3 * countMax + 1)
        clock.advance()
        #expect(list.all.count == 3 * countMax + 2)
        #expect(list.all.last?.count == 2 * countMax && list.all.last?.address == nil)
        #expect(list.all.last?.time == list.all.first?.time)
    }

    @Test func rejectedWritesAreFoldedWithTheirKeys() {
        let trail = trail()
        for count in 1...3 {
            trail.note(
                .writesRejected(code: "permissionDenied", className: "Item", keyCount: count), user: "ada",
                database: "shop", outcome: .refused)
        }
        trail.flush()
        #expect(list.all.map(\.count) == [1, 2])
        #expect(list.all[1].action == .writesRejected(code: "permissionDenied", className: "Item", keyCount: 5))
    }

    @Test func aNameOfAnyLengthIsCut() {
        refuse(trail(), String(repeating: "x", count: 100_000), "10.0.0.1")
        #expect((list.all.first?.user?.utf8.count ?? 1_000) < 100)
    }
}

struct AuditEventTests {
    static let samples: [AuditEvent.Action] = [
        .rulesDeployed(version: 2, former: 1), .loginRefused(method: .password),
        .sessionOpened(method: .token, isReadOnly: false), .sessionEnded(.administrator, by: "root"),
        .writesRejected(code: "permissionDenied", className: "Item", keyCount: 3), .userChanged(.added, user: "bob"),
        .databaseDeleted, .databasesRestricted(to: "shop"), .eventsLost,
    ]

    private func event(_ action: AuditEvent.Action) -> AuditEvent {
        AuditEvent(
            action, at: Timestamp(microseconds: 0), user: "ada", database: "shop", address: "10.0.0.1",
            outcome: .refused, reason: "a \"reason\"\nof two lines", count: 7)
    }

    private func members(_ event: AuditEvent) throws -> [String] {
        let line = event.json
        #expect(!line.contains("\n"))
        guard case .object(let members) = try JSONParser.parse(line) else { return [] }
        return members.map(\.name)
    }

    @Test func eventsAreLinesOfJSON() throws {
        let line = event(.rulesDeployed(version: 2, former: 1)).json
        #expect(
            line == #"{"time":"1970-01-01T00:00:00Z","event":"rules deployed","who":"ada","database":"shop","#
                + #""from":"10.0.0.1","outcome":"refused","reason":"a \"reason\"\u000aof two lines","version":2,"#
                + #""former":1,"count":7}"#)
        let bare = AuditEvent(.databaseDeleted, at: Timestamp(microseconds: 0)).json
        #expect(bare == #"{"time":"1970-01-01T00:00:00Z","event":"database deleted","outcome":"done"}"#)
    }

    /// The table of docs/monitoring.md: each event by name, with the members that it has beside those of all.
    @Test func theGuideListsEveryEventWithItsMembers() throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = try String(contentsOfFile: "\(root)/docs/monitoring.md", encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix("Audit log") })
        let rows = section.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { $0.split(separator: "|") }
        func code(_ cell: Substring) -> [String] {
            cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
        }
        let common: Set = ["time", "event", "who", "database", "from", "outcome", "reason", "count"]
        let listed = Dictionary(
            rows.filter { $0.count == 3 }.map { (code($0[0]).first ?? "", Set(code($0[2]))) }
        ) { first, _ in first }
        #expect(Set(listed.keys) == Set(Self.samples.map { event($0).name }))
        for action in Self.samples {
            let event = event(action)
            #expect(
                listed[event.name] == Set(try members(event)).subtracting(common), "\(event.name)")
        }
        let shared = rows.filter { $0.count == 2 }.compactMap { code($0[0]).first }
        #expect(Set(shared) == common)
    }
}

struct AuditFileTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "audit-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    private func event(_ user: String) -> AuditEvent {
        AuditEvent(.userChanged(.added, user: user), at: Timestamp(microseconds: 0))
    }

    private func lines(_ path: String) throws -> Int {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count
    }

    /// So a server can go on with a file that `sluice users revoke --audit-log=FILE` has made as root.
    @Test(.enabled(if: geteuid() == 0)) func whatRootMakesInAFolderOfSomebodyElseBelongsToThem() throws {
        try withFolder { folder in
            try #require(chown(folder, 65_534, 65_534) == 0)
            let path = folder + "/audit.jsonl"
            let file = try AuditFile(path)
            func owner() throws -> Int? {
                try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? Int
            }
            #expect(try owner() == 65_534)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            file.reopen()
            file.flush()
            #expect(try owner() == 65_534)
        }
    }

    @Test func linesAreAppendedToAFileOfItsOwnerAndToAnotherAfterItWasRenamed() throws {
        try withFolder { folder in
            let path = folder + "/audit.jsonl"
            for _ in 1...2 {
                let file = try AuditFile(path)
                file.receive(event("ada"))
                file.flush()
            }
            #expect(try lines(path) == 2)
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let file = try AuditFile(path)
            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            file.receive(event("bob"))
            file.flush()
            #expect(try lines(path + ".1") == 3)
            file.reopen()
            file.receive(event("eve"))
            file.flush()
            #expect(try lines(path + ".1") == 3 && lines(path) == 1)
            #expect(file.lostCount == 0)
        }
    }

    @Test func whatCannotBeWrittenIsCountedAndToldOnce() throws {
        try withFolder { folder in
            let log = LogCollector()
            // A device without room, and then a file.
            let path = folder + "/audit.jsonl"
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
            let file = try AuditFile(path, log: LogSink(level: .info, to: log))
            for name in ["ada", "bob", "eve"] { file.receive(event(name)) }
            file.flush()
            #expect(file.lostCount == 3)
            #expect(
                log.lines.map(\.message) == ["the audit log cannot be written; events are lost until it can"])
            try FileManager.default.removeItem(atPath: path)
            file.reopen()
            file.receive(event("mallory"))
            file.flush()
            #expect(log.lines.last?.message == "the audit log is written again")
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(try lines(path) == 2 && text.contains(#""event":"events lost","outcome":"done","count":3}"#))
            #expect(file.lostCount == 3)
        }
    }

    @Test func whatIsNoFileIsRefusedWithTheReason() throws {
        try withFolder { folder in
            for (path, reason) in [
                (folder + "/missing/audit.jsonl", "its folder is missing"), (folder, "it is a folder"),
            ] {
                #expect {
                    try AuditFile(path)
                } throws: { error in
                    (error as? ServerError)?.code == .auditLog && "\(error)".contains(reason)
                }
            }
            let pipe = folder + "/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            #expect(throws: ServerError.self) { try AuditFile(pipe) }
        }
    }
}
