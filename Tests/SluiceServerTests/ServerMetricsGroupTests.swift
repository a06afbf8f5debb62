import SluiceModel
import SluiceServer
import Synchronization
import Testing

@Suite struct ServerMetricsGroupTests {
    private final class Recorder: ServerMetrics {
        let calls = Mutex<[String]>([])

        private func note(_ call: String) { calls.withLock { $0.append(call) } }

        func clientConnected() { note("connected") }
        func clientDisconnected() { note("disconnected") }
        func loginDecided(method: ServerLoginMethod, isAccepted: Bool) { note("\(method) \(isAccepted)") }
        func quotaReached(_ quota: ServerQuota) { note("quota \(quota)") }
        func slowClientClosed() { note("slow") }
        func receivedFromClient(byteCount: Int) { note("received \(byteCount)") }
        func sentToClient(byteCount: Int) { note("sent \(byteCount)") }
        func databaseTurn(eventCount: Int, of database: String, took duration: Duration) {
            note("\(eventCount) of \(database) in \(duration)")
        }
    }

    @Test func eachReceiverIsToldEverything() {
        let recorders = [Recorder(), Recorder()]
        let group = ServerMetricsGroup(recorders)
        group.clientConnected()
        group.receivedFromClient(byteCount: 3)
        group.databaseTurn(eventCount: 2, of: "shop", took: .seconds(1))
        group.sentToClient(byteCount: 5)
        group.loginDecided(method: .token, isAccepted: false)
        group.quotaReached(.sessions)
        group.slowClientClosed()
        group.clientDisconnected()
        for recorder in recorders {
            #expect(
                recorder.calls.withLock { $0 } == [
                    "connected", "received 3", "2 of shop in \(Duration.seconds(1))", "sent 5", "token false",
                    "quota sessions", "slow", "disconnected",
                ])
        }
    }
}
