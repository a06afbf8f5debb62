#if PostgreSQL

import Glibc
import Sluice
import SluiceServer
import TestSupport
import Testing

@testable import SluicePostgres

/// Work that one of several server programs does at a time, whose process is killed, or stands still.
struct AloneProcessTests {
    @Test func `what a killed program did alone another does, and who stood still meanwhile stores nothing`()
        async throws
    {
        let database = try await PostgresServer.shared.value.database()
        try await withFolder { folder in
            var programs: [ChildProcess] = []
            defer { for program in programs { program.signal(SIGKILL) } }
            for name in ["a", "b", "c"] {
                let program = try ChildProcess(
                    Tool.path(of: "AloneNode"), [database.url, "\(folder)/\(name)", name], input: nil)
                programs.append(program)
                _ = try await program.line(with: "listening on ")
            }
            func holder(ofTerm term: Int) async throws -> ChildProcess {
                var found: ChildProcess?
                try await wait(for: "term \(term)") {
                    found = programs.first { $0.printed.contains("has term \(term)\n") }
                    return found != nil
                }
                return try #require(found)
            }
            let first = try await holder(ofTerm: 1)
            first.write("of the first\n")
            _ = try await first.line(with: "stored of the first")
            first.signal(SIGKILL)
            let second = try await holder(ofTerm: 2)
            second.write("of the second\n")
            _ = try await second.line(with: "stored of the second")
            second.signal(SIGSTOP)
            let third = try await holder(ofTerm: 3)
            // It is there when the program goes on, which believes that it has the lease.
            second.write("too late\n")
            third.write("of the third\n")
            _ = try await third.line(with: "stored of the third")
            second.signal(SIGCONT)
            // It may hear of the loss before it comes to the mail.
            try await wait(for: "the second to refuse the mail, or to end") {
                second.printed.contains("too late") || second.printed.contains("lost term 2")
            }
            #expect(!second.printed.contains("stored too late"), "\(second.printed)")
            for program in [second, third] {
                #expect(try await names(program) == ["of the first", "of the second", "of the third"])
            }
        }
    }

    private func names(_ program: ChildProcess) async throws -> [String] {
        let address = try #require(
            program.printed.split(separator: "\n").first { $0.hasPrefix("listening on ") }?.dropFirst(13))
        let mail = try ClassSchema("SentMail", primaryKey: "id", properties: [Property("id", .scalar(.string))])
        let store = try await Ledger.store(["\(address)/mails"], classes: [mail], access: .readOnly)
        let names = try await store.records("SentMail").synced(timeout: waitMax).compactMap { $0["id"]?.text }
        await store.close()
        return names.sorted()
    }

    @Test func `a lease is elsewhere within 15 seconds, by the times of the product`() {
        // Who has died holds it for its time at the longest, and the others ask again after each interval.
        #expect(DutyStatements.time + DutyDesk.gainInterval < .seconds(15))
    }
}

#endif
