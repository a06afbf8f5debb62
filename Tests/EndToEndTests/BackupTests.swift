import Foundation
import Glibc
import Sluice
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

/// Backups while clients write, with kill -9 of server and backup: each that is made equals what was written at its
/// version, and so does each version that is restored from the archive.
@Suite(.serialized)
struct BackupTests {
    /// What a restored database has: its version, the counter, and how many entries there are of each writer.
    private struct Content {
        let version: UInt64
        let counter: Int64
        let entries: [Int64: Int64]

        /// - Throws: ``Failure`` if the entries of a writer are not the first that it has written, each once.
        init(_ folder: String) throws {
            let storage = try SQLiteServerStorage.open(
                .file(folder + "/test.sluicedb"), databaseID: ObjectID(high: 0, low: 0))
            defer { storage.close() }
            version = storage.version
            var (counter, numbers): (Int64, [Int64: [Int64]]) = (0, [:])
            for (name, index) in try ["Counter", "Entry"].map({ ($0, try #require(storage.schema.index(of: $0))) }) {
                let properties = storage.schema[index].properties
                func value(_ name: String, _ row: Row) -> Int64 {
                    let place = properties.firstIndex { $0.name == name }
                    guard let place, case .int(let number) = row.values[place] else { return -1 }
                    return number
                }
                try storage.forEachRow(ofClass: index) { row in
                    if name == "Counter" {
                        counter = value("value", row)
                    } else {
                        numbers[value("writer", row), default: []].append(value("number", row))
                    }
                    return true
                }
            }
            self.counter = counter
            for (writer, found) in numbers where found.sorted() != Array(0..<Int64(found.count)) {
                throw Failure("version \(version): the entries of writer \(writer) have gaps")
            }
            entries = numbers.mapValues { Int64($0.count) }
        }
    }

    /// A backup, and what was acknowledged before it began.
    private struct Made {
        let file: String
        let acknowledged: [Int64]
    }

    /// More rounds for a longer proof: `SLUICE_BACKUP_ROUNDS=200`.
    private static let roundCount =
        ProcessInfo.processInfo.environment["SLUICE_BACKUP_ROUNDS"].flatMap { Int($0) } ?? 6

    @Test func everyBackupAndEveryVersionOfTheArchiveEqualsWhatWasWritten() async throws {
        var generator = SeededGenerator(seed: 11)
        try await withFolder { root in
            let (data, archive) = (root + "/data", root + "/archive")
            let options = ["--archive=\(archive)", "--backup-to=\(root)/own", "--backup-every=1s", "--backup-keep=3"]
            let port = try UnusedPort.next()
            var server = try await ServerProcess.start(folder: data, port: port, options: options)
            defer { server.process.signal(SIGKILL) }
            let writers = try await EntryWriter.two(server.url())
            let tasks = writers.map { writer in
                let seed = generator.next()
                return Task { try await writer.write(seed: seed) }
            }
            var made: [Made] = []
            for round in 0..<Self.roundCount {
                let acknowledged = writers.map(\.acknowledged)
                let file = "\(root)/\(round).backup"
                let arguments = ["backup", "--data=\(data)", "--to=\(file)"]
                if round % 3 == 1 {
                    // It dies at a random moment of its work; no outcome depends on which.
                    let process = try ChildProcess(Tool.path, arguments)
                    usleep(UInt32.random(in: 1_000...60_000, using: &generator))
                    process.signal(SIGKILL)
                    _ = try await process.finish()
                }
                if round % 3 == 2 {
                    let backup = Task { try await Tool.run(arguments) }
                    usleep(UInt32.random(in: 1_000...40_000, using: &generator))
                    try await server.kill()
                    _ = try await backup.value
                    server = try await ServerProcess.start(folder: data, port: port, options: options)
                }
                if access(file, F_OK) != 0 {
                    let exit = try await Tool.run(arguments)
                    #expect(exit.code == 0, "round \(round): \(exit.diagnostics)")
                }
                made.append(Made(file: file, acknowledged: acknowledged))
                let count = writers.reduce(0) { $0 + $1.written } + 20
                try await wait(for: "\(count) transactions") { writers.reduce(0) { $0 + $1.written } >= count }
            }
            for task in tasks { task.cancel() }
            for task in tasks { try await task.value }
            for writer in writers {
                try await writer.store.uploaded(timeout: waitMax)
                await writer.store.close()
            }
            server.process.signal(SIGTERM)
            _ = try await server.process.finish()
            try await check(made, writers, root, archive, using: &generator)
        }
    }

    private func check(
        _ made: [Made], _ writers: [EntryWriter], _ root: String, _ archive: String,
        using generator: inout SeededGenerator
    ) async throws {
        let final = try Content(root + "/data")
        #expect(writers.map { final.entries[$0.number] } == writers.map(\.written))
        #expect(final.counter == writers.reduce(0) { $0 + $1.written })
        // What made the counter took the first versions.
        let start = final.version - UInt64(final.counter)
        func restore(_ arguments: [String], _ folder: String) async throws -> Content {
            let exit = try await Tool.run(["restore"] + arguments + ["--data=\(folder)"])
            guard exit.code == 0 else { throw Failure("\(arguments): \(exit.diagnostics)") }
            defer { try? FileManager.default.removeItem(atPath: folder) }
            return try Content(folder)
        }
        for (round, backup) in made.enumerated() {
            let verified = try await Tool.run("backup", "verify", backup.file)
            #expect(verified.code == 0 && verified.lines.last == "the backup is whole", "\(verified.diagnostics)")
            let content = try await restore([backup.file], "\(root)/restored")
            #expect(content.version == start + UInt64(content.counter), "round \(round)")
            #expect(content.entries.values.reduce(0, +) == content.counter, "round \(round)")
            for (writer, count) in zip(writers, backup.acknowledged) {
                #expect(content.entries[writer.number, default: 0] >= count, "round \(round): lost")
            }
        }
        let first = try #require(made.first).file
        let all = try await restore([first, "--archive=\(archive)"], "\(root)/restored")
        #expect(all.version == final.version && all.entries == final.entries)
        let earliest = try await restore([first], "\(root)/restored").version
        for _ in 0..<max(4, Self.roundCount / 2) {
            let version = UInt64.random(in: earliest...final.version, using: &generator)
            let content = try await restore(
                [first, "--archive=\(archive)", "--database=test", "--until=\(version)"], "\(root)/restored")
            #expect(content.version == version)
            #expect(content.counter == Int64(version - start), "version \(version)")
            #expect(content.entries.values.reduce(0, +) == content.counter, "version \(version)")
        }
        let own = try FileManager.default.contentsOfDirectory(atPath: root + "/own").filter { $0.hasSuffix(".backup") }
        #expect((1...3).contains(own.count))
        for name in own {
            let content = try await restore(["\(root)/own/\(name)", "--archive=\(archive)"], "\(root)/restored")
            #expect(content.entries == final.entries, "\(name)")
        }
    }

    @Test func aSignalEndsABackupARestorationAndACheckAndNothingIsLeft() async throws {
        try await withFolder { root in
            let (data, file) = (root + "/data", root + "/x.backup")
            try await withServer(folder: data) { server in
                try await Fixture.withStore(server.url()) { store in
                    let payload = Value.string(String(repeating: "x", count: 1_000))
                    for _ in 0..<4 {
                        try await store.write { transaction in
                            for number in 0..<5_000 as Range<Int64> {
                                try transaction.insert(
                                    Record(Fixture.entry.get(), ["number": .int(number), "payload": payload]))
                            }
                        }
                    }
                    try await store.uploaded(timeout: waitMax)
                }
            }
            let made = try await Tool.run("backup", "--data=\(data)", "--to=\(file)")
            let byteCount = try #require(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
            #expect(made.code == 0 && made.lines.last == "made \(file), \(byteCount) bytes", "\(made.lines)")
            // As soon as something is there it is told to end; it may be done by then.
            for (arguments, begun, result) in [
                (["backup", "--data=\(data)", "--to=\(root)/new"], "new.part", "new"),
                (["restore", file, "--data=\(root)/new"], "new.restoring", "new"),
                (["backup", "verify", file], "x.backup.verify", ""),
            ] {
                for signal in [SIGTERM, SIGINT] {
                    let process = try ChildProcess(Tool.path, arguments)
                    let end = Task { try await process.finish() }
                    try await wait(for: begun) {
                        access("\(root)/\(begun)", F_OK) == 0
                            || access("\(root)/\(result)", F_OK) == 0 && !result.isEmpty
                            || process.diagnostics.contains("sluice:")
                    }
                    process.signal(signal)
                    let exit = try await end.value
                    #expect([0, 1].contains(exit.code), "\(arguments): \(exit)")
                    #expect(exit.code == 0 || exit.diagnostics.contains("interrupted; "), "\(arguments): \(exit)")
                    let names = Set(try FileManager.default.contentsOfDirectory(atPath: root))
                    let isMade = exit.code == 0 && !result.isEmpty
                    #expect(names == (isMade ? ["data", "x.backup", result] : ["data", "x.backup"]), "\(arguments)")
                    if isMade { try FileManager.default.removeItem(atPath: "\(root)/\(result)") }
                }
            }
        }
    }

    /// `SLUICE_BACKUP_ROUNDS` says how often.
    @Test func `a restoration that is killed leaves all or nothing under its name, and the next one succeeds`()
        async throws
    {
        var generator = SeededGenerator(seed: 12)
        try await withFolder { root in
            let (data, file, new) = (root + "/data", root + "/x.backup", root + "/new")
            try await withServer(folder: data, options: ["--archive=\(root)/archive"]) { server in
                try await Fixture.withStore(server.url()) { store in
                    let payload = Value.string(String(repeating: "x", count: 1_000))
                    for part in 0..<4 {
                        try await store.write { transaction in
                            for number in 0..<2_000 as Range<Int64> {
                                try transaction.insert(
                                    Record(Fixture.entry.get(), ["number": .int(number), "payload": payload]))
                            }
                        }
                        try await store.uploaded(timeout: waitMax)
                        guard part == 1 else { continue }
                        #expect(try await Tool.run("backup", "--data=\(data)", "--to=\(file)").code == 0)
                    }
                }
                // What was stored last is in the archive once the server has stopped.
                server.process.signal(SIGTERM)
                _ = try await server.process.finish()
            }
            // Half of what is restored is from the backup, and half from the archive.
            func checkRestored() throws {
                let storage = try SQLiteServerStorage.open(
                    .file(new + "/test.sluicedb"), databaseID: ObjectID(high: 0, low: 0))
                defer { storage.close() }
                var count = 0
                try storage.forEachRow(ofClass: #require(storage.schema.index(of: "Entry"))) { _ in
                    count += 1
                    return true
                }
                #expect(count == 8_000)
            }
            let arguments = ["restore", file, "--archive=\(root)/archive", "--data=\(new)"]
            let start = ContinuousClock.now
            #expect(try await Tool.run(arguments).code == 0)
            let time = (ContinuousClock.now - start) / .microseconds(1)
            try checkRestored()
            try FileManager.default.removeItem(atPath: new)
            var killedCount = 0
            for _ in 0..<4 * Self.roundCount {
                let process = try ChildProcess(Tool.path, arguments)
                // It dies at a random moment of its work; no outcome depends on which.
                usleep(UInt32.random(in: 0...UInt32(time), using: &generator))
                process.signal(SIGKILL)
                let exit = try await process.finish()
                if exit.code != 0 { killedCount += 1 }
                if access(new, F_OK) == 0 {
                    try checkRestored()
                    try FileManager.default.removeItem(atPath: new)
                }
            }
            #expect(killedCount > 0)
            let last = try await Tool.run(arguments)
            #expect(last.code == 0, "\(last.diagnostics)")
            try checkRestored()
            let left = Set(try FileManager.default.contentsOfDirectory(atPath: root))
            #expect(left == ["archive", "data", "new", "x.backup"])
        }
    }

    @Test(.onSmallDisk) func aFullDiskRefusesABackupAndARestorationAndNothingIsLeft() async throws {
        let disk = try #require(SmallDisk())
        try await withFolder { root in
            let data = root + "/data"
            try await withServer(folder: data) { server in
                try await Fixture.withStore(server.url()) { store in
                    let payload = Value.string(String(repeating: "x", count: 1_000))
                    try await store.write { transaction in
                        for number in 0..<2_000 as Range<Int64> {
                            try transaction.insert(
                                Record(Fixture.entry.get(), ["number": .int(number), "payload": payload]))
                        }
                    }
                    try await store.uploaded(timeout: waitMax)
                }
            }
            #expect(try await Tool.run("backup", "--data=\(data)", "--to=\(root)/x.backup").code == 0)
            disk.fill()
            let before = Set(try FileManager.default.contentsOfDirectory(atPath: disk.path))
            for arguments in [
                ["backup", "--data=\(data)", "--to=\(disk.path)/x.backup"],
                ["restore", root + "/x.backup", "--data=\(disk.path)/new"],
                ["backup", "verify", root + "/x.backup", "--temporary=\(disk.path)"],
            ] {
                let exit = try await Tool.run(arguments)
                #expect(exit.code == 1 && exit.diagnostics.contains("free some"), "\(arguments): \(exit)")
                #expect(Set(try FileManager.default.contentsOfDirectory(atPath: disk.path)) == before, "\(arguments)")
            }
        }
    }

    @Test func whatCannotBeIsRefusedWithTheReason() async throws {
        try await withFolder { root in
            func refused(_ arguments: [String], _ words: String, code: Int32 = 1) async throws {
                let exit = try await Tool.run(arguments)
                #expect(exit.code == code, "\(arguments): \(exit.diagnostics)")
                #expect(exit.diagnostics.contains(words), "\(arguments): \(exit.diagnostics)")
            }
            let (data, file) = (root + "/data", root + "/x.backup")
            try await withServer(folder: data) { server in
                try await Fixture.withStore(server.url()) { try await $0.addPlane("N1") }
                let exit = try await Tool.run("backup", "--data=\(data)", "--to=\(file)")
                #expect(exit.code == 0 && exit.lines.first?.hasPrefix("test\tversion") == true)
            }
            try await refused(["backup", "--data=\(data)", "--to=\(file)"], "exists already")
            try await refused(["backup", "--data=\(root)/none", "--to=\(file)2"], "does not exist")
            try await refused(["backup", "--data=\(root)", "--to=\(file)2"], "no databases and no users")
            try await refused(["backup"], "--data=DIR is missing", code: 64)
            try await refused(["backup", "verify"], "FILE is missing", code: 64)
            try await refused(["backup", "check", file], "ACTION is one of verify", code: 64)
            try await refused(["restore", file, "--data=\(data)"], "was left as it is")
            try await refused(["restore", file], "--data=DIR is missing", code: 64)
            try await refused(["restore", file, "--data=\(root)/new", "--until=5"], "--database=NAME", code: 64)
            for until in ["noon", "2026-11-27", "2026-11-27T10:00:00", "-1"] {
                try await refused(
                    ["restore", file, "--data=\(root)/new", "--archive=\(root)", "--until=\(until)"], "is neither",
                    code: 64)
            }
            try await refused(
                ["restore", file, "--data=\(root)/new", "--database=test", "--until=5"], "--archive=DIR", code: 64)
            var bytes = try Data(contentsOf: URL(filePath: file))
            try bytes.dropLast(700).write(to: URL(filePath: root + "/torn"))
            try await refused(["backup", "verify", root + "/torn"], "is torn")
            bytes[bytes.count / 2] ^= 4
            try bytes.write(to: URL(filePath: root + "/altered"))
            try await refused(["backup", "verify", root + "/altered"], "was altered")
            try await refused(["restore", root + "/altered", "--data=\(root)/new"], "was altered")
            #expect(access(root + "/new", F_OK) != 0 && access(root + "/new.restoring", F_OK) != 0)
        }
    }
}
