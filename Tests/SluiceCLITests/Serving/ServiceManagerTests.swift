import Foundation
import Glibc
import TestSupport
import Testing

@testable import SluiceCLI

struct ServiceManagerTests {
    private func manager(_ variables: [String: String]) -> ServiceManager? {
        ServiceManager(environment: { variables[$0] }, processID: 42)
    }

    @Test(arguments: [true, false])
    func theManagerIsToldAtAPathOrAnAbstractName(isAbstract: Bool) throws {
        let name = NSTemporaryDirectory() + "sluice-\(UUID().uuidString.prefix(8))"
        let address = isAbstract ? "@" + name : name
        let manager = try ManagerSocket(address)
        defer { unlink(name) }
        let told = try #require(self.manager(["NOTIFY_SOCKET": address]))
        told.notify(.ready(status: "listening\nnowhere"))
        #expect(manager.next() == "READY=1\nSTATUS=listening\\u{A}nowhere")
        told.notify(.reloading)
        let lines = manager.next().split(separator: "\n")
        #expect(lines.first == "RELOADING=1" && lines.count == 3)
        #expect(Int64(lines[1].dropFirst("MONOTONIC_USEC=".count)) ?? 0 > 0)
        told.notify(.watchdog)
        #expect(manager.next() == "WATCHDOG=1")
        told.notify(.stopping(after: .seconds(100)))
        #expect(manager.next() == "STOPPING=1\nEXTEND_TIMEOUT_USEC=160000000\nSTATUS=draining")
    }

    @Test func theWatchdogIsTheProcesssOwn() {
        #expect(manager([:]) == nil)
        #expect(manager(["NOTIFY_SOCKET": "vsock:2:1234"]) == nil)
        let variables = ["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "3000000"]
        #expect(manager(["NOTIFY_SOCKET": "/x"])?.watchdogInterval == nil)
        #expect(manager(variables)?.watchdogInterval == .seconds(3))
        #expect(manager(variables.merging(["WATCHDOG_PID": "42"]) { $1 })?.watchdogInterval == .seconds(3))
        #expect(manager(variables.merging(["WATCHDOG_PID": "43"]) { $1 })?.watchdogInterval == nil)
        #expect(manager(variables.merging(["WATCHDOG_USEC": "soon"]) { $1 })?.watchdogInterval == nil)
    }

    @Test func aManagerThatIsGoneIsNoError() throws {
        let gone = try #require(manager(["NOTIFY_SOCKET": "/nowhere/socket"]))
        gone.notify(.watchdog)
        try #require(manager(["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 300)])).notify(.watchdog)
    }
}
