import Dispatch
import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceTransport
import SluiceWire
import Testing

@testable import SluiceServer

/// The reports about the server and about jobs, asked for in the JSON form.
struct JSONReportsTests {
    private struct NoStamp: Error, CustomStringConvertible {
        var description: String { "no stamp" }
    }

    /// A server for users who log in, where each may read reports of the database, and of no other one.
    private static func ofUsers(_ configuration: inout ServerConfiguration) {
        configuration.isDevelopment = false
        configuration.allowsEverything = true
        configuration.servesDashboard = true
        configuration.logins.custom = { request in
            if case .token(let name) = request { LoginUser(id: name) } else { nil }
        }
    }

    private func ask(_ client: JSONClient, _ id: Int, _ report: String, _ argument: String = "{}") async -> JSONValue? {
        client.send("{\"type\":\"ask\",\"id\":\(id),\"report\":\"\(report)\",\"argument\":\(argument)}")
        while let message = await client.next() {
            if message["type"]?.string == "answer", message["id"] == .integer(Int64(id)) { return message["value"] }
            if message["ask"] == .integer(Int64(id)) { return message }
        }
        return nil
    }

    @Test func reportsAboutTheServerAreOfTheSessionsDatabaseAlone() async throws {
        try await JSONServer.run(Self.ofUsers) { network, _ in
            let other = try JSONClient(network, "ws://server/other")
            other.send(#"{"type":"open","credentials":{"token":"bob"}}"#)
            _ = try #require(await other.next("opened"))
            let (client, _) = try await JSONServer.open(network, #","credentials":{"token":"ada"}"#)
            #expect(await ask(client, 1, "databases") == .array([.string("any")]))
            let sessions = try #require(await ask(client, 2, "sessions")?.array)
            #expect(sessions.map { $0["user"] } == [.string("ada")])
            #expect(sessions.first?["database"] == .string("any"))
            #expect(await ask(client, 3, "health")?["ready"] == .bool(true))
            let metrics = try #require(await ask(client, 4, "metrics")?.array)
            #expect(metrics.contains { $0["name"] == .string("sluice_server_sessions") })
            #expect(!metrics.contains { $0["labels"]?["database"] == .string("other") })
            #expect(await ask(client, 5, "log", #"{"after":0}"#)?.array != nil)
            let refused = await ask(client, 6, "log", "{}")
            #expect(refused?["code"] == .string("invalidQuery"))
            #expect(refused?["message"] == .string("the argument is an object with a member 'after'"))
            // What is of another database cannot be ended from here.
            let foreign = try #require(await ask(other, 1, "sessions")?.array?.first?["session"]?.string)
            #expect(
                await ask(client, 7, "endSession", "{\"session\":\"\(foreign)\"}")?["message"]
                    == .string("there is no such session; it may have ended"))
            #expect(
                await ask(client, 8, "endSession", "{\"id\":\"\(foreign)\"}")?["message"]
                    == .string(#"the argument is {"session":NAME}"#))
            client.close()
            other.close()
        }
    }

    @Test func aSessionThatIsEndedIsToldAndComesBackLater() async throws {
        let events = EventList()
        func configure(_ configuration: inout ServerConfiguration) {
            Self.ofUsers(&configuration)
            configuration.auditLog = events
        }
        try await JSONServer.run(configure) { network, _ in
            let (ended, _) = try await JSONServer.open(network, #","credentials":{"token":"bob"}"#)
            let (client, _) = try await JSONServer.open(network, #","credentials":{"token":"ada"}"#)
            let sessions = try #require(await ask(client, 1, "sessions")?.array)
            let name = try #require(sessions.first { $0["user"] == .string("bob") }?["session"]?.string)
            #expect(await ask(client, 2, "endSession", "{\"session\":\"\(name)\"}")?["ended"] == .string(name))
            let error = try #require(await ended.next("error"))
            #expect(error["action"] == .string("retry"))
            #expect(error["wait"] == .integer(1_000))
            #expect(error["message"] == .string("the server's operator has ended the session"))
            #expect(await ended.next() == nil)
            client.close()
        }
        // Who was ended, and who has done it.
        let end = try #require(events.all.first { $0.name == "session ended" })
        #expect(end.user == "bob" && end.action == .sessionEnded(.administrator, by: "ada"))
    }

    /// A database whose queue is busy hides neither the sessions of the others nor its own.
    @Test func aDatabaseThatDoesNotAnswerIsNamed() async throws {
        let (timers, continuation) = AsyncStream<@Sendable () -> Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        func configure(_ configuration: inout ServerConfiguration) {
            configuration.schedule = { time, body in
                if time == .seconds(1) { continuation.yield(body) } else { scheduleInTime(time, body) }
            }
        }
        try await JSONServer.run(configure) { network, server in
            let (client, _) = try await JSONServer.open(network)
            let other = try JSONClient(network, "ws://server/stuck")
            other.send(#"{"type":"open"}"#)
            _ = try #require(await other.next("opened"))
            let stuck = try #require(server.databases.known("stuck"))
            stuck.performLater { _ in gate.wait() }
            let any = try #require(server.databases.known("any"))
            async let patience: Void = {
                var count = 0
                for await end in timers {
                    // Whoever answers has done so by then.
                    _ = try await any.perform { _, _ in }
                    end()
                    count += 1
                    if count == 2 { return }
                }
            }()
            let sessions = try #require(await ask(client, 1, "sessions")?.array)
            func member(_ name: String, of database: String) -> JSONValue? {
                sessions.first { $0["database"] == .string(database) }?[name]
            }
            #expect(sessions.count == 2)
            for name in ["subscriptions", "incomplete"] {
                #expect(member(name, of: "any") == .integer(0) && member(name, of: "stuck") == .null, "\(name)")
            }
            let top = try #require(try JSONParser.parse(await server.databases.top().text).array)
            #expect(top.map { $0["database"] } == [.string("any"), .string("stuck")])
            #expect(top[0]["queries"]?.array != nil && top[1]["answers"] == .bool(false))
            try await patience
            gate.signal()
            // It answers again, and nobody waits for the time.
            let again = try #require(await ask(client, 2, "sessions")?.array)
            #expect(again.allSatisfy { $0["subscriptions"] == .integer(0) })
            client.close()
            other.close()
        }
    }

    @Test func jobsAndWhatTheyHaveGivenUpAreListedRetriedAndDiscarded() async throws {
        try await JSONServer.run { network, server in
            let letter = DeadLetterRecord(
                NoStamp(), attemptCount: 3, time: Timestamp(microseconds: 0), version: 1)
            let cars = ["a", "b"].map { Identity(className: "Car", key: .string($0)) }
            var writes = [
                JobWrite(
                    ConsumerState.key("index"), .set(.never, value: ConsumerState(holder: 7, query: "Car").wireBytes()))
            ]
            for car in cars {
                writes.append(
                    JobWrite(
                        DeadLetterRecord.key(car, in: QueueClaim.deadSpace("mail")),
                        .set(.never, value: letter.wireBytes())))
            }
            writes.append(
                JobWrite(
                    DeadLetterRecord.key(cars[0], in: ConsumerState.deadSpace("index")),
                    .set(.never, value: letter.wireBytes())))
            let given = writes
            try await server.access(to: "any").write(as: nil) { _, _ in OwnTransaction((), [], given) }
            let (client, _) = try await JSONServer.open(network)
            #expect(
                await ask(client, 1, "consumers")?.text
                    == #"[{"name":"index","query":"Car","lag":null,"handled":0,"committedAt":null,"dead":1}]"#)
            #expect(await ask(client, 2, "queues")?.text == #"[{"name":"mail","claims":0,"dead":2,"query":null}]"#)
            let dead = try #require(await ask(client, 3, "dead", #"{"queue":"mail"}"#)?.array)
            #expect(
                dead.first?.text
                    == #"{"class":"Car","key":"a","error":"no stamp","attempts":3,"time":"1970-01-01T00:00:00Z"}"#)
            #expect(dead.count == 2)
            #expect(await ask(client, 4, "dead", #"{"consumer":"index"}"#)?.array?.count == 1)
            #expect(
                await ask(client, 5, "dead", "{}")?["message"]
                    == .string(#"the argument is {"queue":NAME} or {"consumer":NAME}"#))
            let row = #""class":"Car","key":"a"}"#
            #expect(await ask(client, 6, "retry", #"{"queue":"mail","# + row)?["done"] == .bool(true))
            #expect(await ask(client, 8, "discard", #"{"consumer":"index","# + row)?["done"] == .bool(true))
            #expect(await ask(client, 9, "dead", #"{"queue":"mail"}"#)?.array?.count == 1)
            #expect(await ask(client, 10, "dead", #"{"consumer":"index"}"#)?.array?.isEmpty == true)
            client.close()
        }
    }
}
