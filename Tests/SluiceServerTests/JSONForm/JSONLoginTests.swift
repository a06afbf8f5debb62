import Foundation
import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceTransport
import Synchronization
import Testing

@testable import SluiceServer

/// Logins in the JSON form: what a client is told of a token that ends, has ended, or is renewed.
struct JSONLoginTests {
    /// A clock that stands still until a test sets it.
    private final class Clock: Sendable {
        private let time = Mutex<Int64>(1_700_000_000_000_000)

        var now: Timestamp { Timestamp(microseconds: time.withLock { $0 }) }

        func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
    }

    private let clock = Clock()

    /// A server to which a token is a name, a dash, and after how many seconds it ends.
    private func run(_ body: (LoopbackNetwork) async throws -> Void) async throws {
        let start = clock.now.date
        try await JSONServer.run { [clock] configuration in
            configuration.isDevelopment = false
            configuration.allowsEverything = true
            configuration.now = { clock.now }
            configuration.logins.custom = { request in
                guard case .token(let token) = request else { return nil }
                let parts = token.split(separator: "-")
                guard parts.count == 2, let seconds = Double(parts[1]) else { return nil }
                let end = start.addingTimeInterval(seconds)
                return clock.now.date < end ? LoginUser(id: String(parts[0]), expiresAt: end) : nil
            }
        } _: { network, _ in
            try await body(network)
        }
    }

    private static func credentials(_ token: String) -> String { #","credentials":{"token":"\#(token)"}"# }

    @Test func aTokenThatHasExpiredIsRefusedWithTheReason() async throws {
        try await run { network in
            clock.advance(seconds: 200)
            let client = try JSONClient(network)
            client.send("{\"type\":\"open\"\(Self.credentials("ada-100"))}")
            let error = try #require(await client.next())
            #expect(error["type"] == .string("error"))
            #expect(error["code"] == .string("authenticationFailed"))
            #expect(error["action"] == .string("stop"))
            #expect(error["message"]?.string?.isEmpty == false)
            #expect(await client.next() == nil, "the connection ends")
        }
    }

    @Test func aLoginThatIsRenewedGoesOnAndLosesNothing() async throws {
        try await run { network in
            let client = try JSONClient(network)
            client.send("{\"type\":\"open\"\(Self.credentials("ada-100"))}")
            client.send(#"{"type":"sub","id":1,"q":"Car TOTAL"}"#)
            let login = try #require(await client.next("login"))
            #expect(login["until"] == .string("2023-11-14T22:15:00Z"))
            #expect(await client.change()?["total"] == .integer(0))
            client.send("{\"type\":\"renew\"\(Self.credentials("ada-500"))}")
            #expect(await client.next("login")?["until"] == .string("2023-11-14T22:21:40Z"))
            // Past the end of the first, and the minute by which clocks may differ.
            clock.advance(seconds: 200)
            client.write(1, JSONServer.cars)
            #expect(await client.change()?["total"] == .integer(3))
            #expect(await client.next("ack")?["seq"] == .integer(1))
            client.close()
        }
    }

    @Test func aRenewalThatIsNoneIsAnsweredAndTheSessionGoesOn() async throws {
        try await run { network in
            let client = try JSONClient(network)
            client.send("{\"type\":\"open\"\(Self.credentials("ada-100"))}")
            for (text, message) in [
                (#"{"type":"renew"}"#, "renew lacks its member 'credentials', an object"),
                (#"{"type":"renew","credentials":{"token":5}}"#, "'token' of 'credentials' is not a string"),
                (#"{"type":"renew","credentials":{"jwt":"x"}}"#, "'credentials' has no member 'jwt'; it may have"),
            ] {
                client.send(text)
                let error = try #require(await client.next("error"))
                #expect(error["action"] == .string("report"))
                #expect(error["message"]?.string?.hasPrefix(message) == true, "\(error.text)")
            }
            client.send(#"{"type":"sub","id":1,"q":"Car"}"#)
            #expect(await client.change() != nil)
            client.send("{\"type\":\"renew\"\(Self.credentials("bob-500"))}")
            let ended = try #require(await client.next("error"))
            #expect(ended["code"] == .string("authenticationFailed"))
            #expect(ended["message"] == .string("the new credentials are of another user than the session"))
            #expect(ended["action"] == .string("stop"))
            #expect(await client.next() == nil)
        }
    }

    @Test func whoseLoginHasEndedIsToldAndGoesOnWithAnotherTokenWhereItWas() async throws {
        try await run { network in
            let client = try JSONClient(network)
            client.send("{\"type\":\"open\"\(Self.credentials("ada-100"))}")
            let opened = try #require(await client.next("opened"))
            client.send(#"{"type":"sub","id":1,"q":"Car"}"#)
            client.write(1, JSONServer.cars)
            let version = try #require(await client.next("ack")?["v"]?.text)
            clock.advance(seconds: 160)
            client.write(2, #"[{"op":"delete","class":"Car","key":"a"}]"#)
            let error = try #require(await client.next("error"))
            #expect(error["code"] == .string("credentialsExpired"))
            #expect(error["message"] == .string("the credentials of the session have expired"))
            #expect(error["action"] == .string("stop"))
            #expect(await client.next() == nil)
            let name = opened["client"]?.string ?? ""
            let (again, reopened) = try await JSONServer.open(
                network, ",\"client\":\"\(name)\",\"v\":\(version),\"acknowledged\":1" + Self.credentials("ada-900"))
            #expect(reopened["outcome"] == .string("resumed"))
            #expect(reopened["acknowledged"] == .integer(1), "the write after the end did not count")
            again.send("{\"type\":\"sub\",\"id\":1,\"q\":\"Car\",\"since\":\(version)}")
            let change = try #require(await again.change())
            #expect(change["reset"] == nil)
            #expect(change.put.isEmpty)
            again.write(2, #"[{"op":"delete","class":"Car","key":"a"}]"#)
            #expect(await again.change()?["gone"]?.array?.first?["key"] == .string("a"))
            again.close()
        }
    }
}
