import Foundation
import Glibc
import Sluice
import Synchronization
import TestSupport
import Testing

/// Removes the files of a running server: from then on it acknowledges nothing, and it says what has happened.
@Suite(.serialized)
struct VanishedFilesTests {
    private func insert(_ number: Int64, into store: Store) async throws {
        let entry = try Record(Fixture.entry.get(), ["number": .int(number)])
        try await store.write { try $0.insert(entry) }
    }

    /// Writes until the server no longer acknowledges.
    ///
    /// - Returns: how many entries were acknowledged, and how many were written.
    private func writeUntilRefused(
        _ store: Store, from start: Int64 = 0, _ progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> (acknowledged: Int64, written: Int64) {
        var number = start
        while true {
            try await insert(number, into: store)
            number += 1
            let deadline = ContinuousClock.now + waitMax
            var isAcknowledged = false
            while !isAcknowledged {
                do {
                    try await store.uploaded(timeout: .seconds(3))
                    isAcknowledged = true
                } catch let error as SyncError {
                    if error.message.contains("removed, renamed or replaced") { return (number - 1, number) }
                    // A busy machine may keep a server from answering for a while.
                    guard ContinuousClock.now < deadline else { throw error }
                }
            }
            progress(number)
        }
    }

    @Test func aDataFolderThatIsRenamedUnderLoadLosesNothingAcknowledgedAndAcknowledgesNothingMore() async throws {
        try await withFolder { outer in
            let (folder, elsewhere) = (outer + "/data", outer + "/elsewhere")
            let port = try UnusedPort.next()
            try await withServer(folder: folder, port: port) { server in
                try await Fixture.withStore(server.url()) { store in
                    let count = Counter()
                    let writing = Task { try await writeUntilRefused(store) { count.set($0) } }
                    try await wait(for: "fifty acknowledged entries") { count.value >= 50 }
                    #expect(rename(folder, elsewhere) == 0)
                    let (acknowledged, written) = try await writing.value
                    // Later writes are not acknowledged either, on any connection.
                    let line = #"{"op":"insert","class":"Plane","key":"N1"}"#
                    let refused = try await Tool.run("write", server.url(), "--timeout=1", input: line)
                    #expect(refused.code == 1)
                    #expect(refused.diagnostics.contains("removed, renamed or replaced"), "\(refused.diagnostics)")
                    let new = try await Tool.run("write", server.url("new"), "--timeout=1", input: line)
                    #expect(new.code == 1)
                    #expect(server.process.diagnostics.contains("was removed, renamed or replaced"))
                    try await server.kill()
                    // After the files are put back, everything acknowledged is there, and the rest arrives.
                    #expect(rename(elsewhere, folder) == 0)
                    try await withServer(folder: folder, port: port) { again in
                        let found = try await Tool.run("query", again.url(), "Entry")
                        #expect(found.lines.count >= Int(acknowledged), "\(found.diagnostics)")
                        try await store.uploaded(timeout: waitMax)
                        let all = try await Tool.run("query", again.url(), "Entry")
                        #expect(all.lines.count == Int(written), "\(all.diagnostics)")
                    }
                }
            }
        }
    }

    /// What is removed while the server is running.
    enum Removal: CaseIterable {
        case file, folder

        func happen(in folder: String) throws {
            try FileManager.default.removeItem(atPath: self == .file ? folder + "/test.sluicedb" : folder)
        }
    }

    @Test(arguments: Removal.allCases)
    func aFileOrFolderThatIsRemovedUnderLoadEndsAcknowledgementsAndTheServerSaysWhatIsGone(
        removal: Removal
    ) async throws {
        try await withFolder { outer in
            let folder = outer + "/data"
            let port = try UnusedPort.next()
            try await withServer(folder: folder, port: port) { server in
                try await Fixture.withStore(server.url()) { store in
                    let count = Counter()
                    let writing = Task { try await writeUntilRefused(store) { count.set($0) } }
                    try await wait(for: "twenty acknowledged entries") { count.value >= 20 }
                    try removal.happen(in: folder)
                    _ = try await writing.value
                    try await server.process.line(.diagnostics, with: folder, "was removed, renamed or replaced")
                    try await server.kill()
                }
            }
            guard removal == .file else { return }
            // The rest of the database is not mistaken for a new one.
            try await withServer(folder: folder, port: port) { server in
                let found = try await Tool.run("query", server.url(), "Entry", "--timeout=1")
                #expect(found.code == 1 && found.lines.isEmpty)
                #expect(found.diagnostics.contains("they have to be put back"), "\(found.diagnostics)")
            }
        }
    }

    @Test func aWriteAheadLogThatIsRemovedUnderLoadLosesNothingAcknowledged() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            try await withServer(folder: folder, port: port) { server in
                try await Fixture.withStore(server.url()) { store in
                    for number in 0..<40 as Range<Int64> {
                        if number == 20 { unlink(folder + "/test.sluicedb-wal") }
                        try await insert(number, into: store)
                        try await store.uploaded(timeout: waitMax)
                    }
                    #expect(server.process.diagnostics.contains("test.sluicedb-wal was removed"))
                    try await server.kill()
                }
            }
            try await withServer(folder: folder, port: port) { server in
                let found = try await Tool.run("query", server.url(), "Entry")
                #expect(found.lines.count == 40, "\(found.diagnostics)")
            }
        }
    }

    @Test func aWriteAheadLogThatIsRemovedWithTheServerKilledIsMissedAtTheRestart() async throws {
        try await withFolder { folder in
            let port = try UnusedPort.next()
            try await withServer(folder: folder, port: port) { server in
                try await Fixture.withStore(server.url()) { store in
                    try await insert(1, into: store)
                    try await store.uploaded(timeout: waitMax)
                    try await server.kill()
                }
            }
            unlink(folder + "/test.sluicedb-wal")
            try await withServer(folder: folder, port: port) { server in
                let found = try await Tool.run("query", server.url(), "Entry", "--timeout=1")
                #expect(found.code == 1 && found.lines.isEmpty)
                #expect(found.diagnostics.contains("they have to be put back"), "\(found.diagnostics)")
                try await server.process.line(.diagnostics, with: "test.sluicedb lacks commits", "-wal is missing")
            }
        }
    }

    @Test func aFileThatIsRemovedWhileItsDatabaseIsIdleIsNoticedAndOthersAreServed() async throws {
        try await withFolder { folder in
            try await withServer(folder: folder) { server in
                try await Fixture.withStore(server.url()) { store in
                    try await store.addPlane("N1")
                    unlink(folder + "/test.sluicedb")
                    try await server.process.line(
                        .diagnostics, with: "a database vanished", "test.sluicedb was removed")
                    let query = try await Tool.run("query", server.url(), "Plane", "--timeout=1")
                    #expect(query.code == 1)
                    #expect(query.lines.isEmpty)
                    #expect(query.diagnostics.contains("they have to be put back"), "\(query.diagnostics)")
                    try await server.expectService("other")
                }
            }
            // A restarted server rejects it too, until the marker is removed as well.
            try await withServer(folder: folder) { server in
                let query = try await Tool.run("query", server.url(), "Plane", "--timeout=1")
                #expect(query.code == 1)
                #expect(server.process.diagnostics.contains("test.sluicedb-marker"), "\(server.process.diagnostics)")
                for suffix in ["-marker", "-wal"] { unlink(folder + "/test.sluicedb" + suffix) }
                try await server.expectService("test")
            }
        }
    }

    @Test func pipesFoldersAndDanglingLinksInTheDataFolderAreRefusedAtOnce() async throws {
        try await withFolder { folder in
            mkfifo(folder + "/pipe.sluicedb", 0o600)
            mkdir(folder + "/folder.sluicedb", 0o700)
            symlink(folder + "/nowhere", folder + "/link.sluicedb")
            close(open(folder + "/empty.sluicedb", O_CREAT | O_WRONLY, 0o600))
            try await withServer(folder: folder) { server in
                for name in ["pipe", "folder", "link", "empty"] {
                    let query = try await Tool.run("query", server.url(name), "Plane", "--timeout=1")
                    #expect(query.code == 1, "\(name)")
                    #expect(query.diagnostics.contains("could not open the database: "), "\(query.diagnostics)")
                }
                try await server.expectService()
            }
        }
    }
}

/// A number that several tasks read.
private final class Counter: Sendable {
    private let number = Mutex<Int64>(0)

    var value: Int64 { number.withLock { $0 } }

    func set(_ value: Int64) { number.withLock { $0 = value } }
}
