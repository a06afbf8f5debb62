@testable import SluiceTransport

/// A delegate that records the events of its connection.
final class Recorder: MessageConnectionDelegate {
    struct State: Sendable, CustomStringConvertible {
        var connection: (any MessageConnection)?
        var openCount = 0
        var messages: [[UInt8]] = []
        var messageCount = 0
        var byteCount = 0
        var drainCount = 0
        var closes: [TransportError?] = []
        var callsAfterClose = 0

        var description: String {
            "opened \(openCount), messages \(messageCount), bytes \(byteCount), drained \(drainCount), closes \(closes)"
        }
    }

    let state = Observed(State())
    private let keepsMessages: Bool
    private let react: @Sendable (any MessageConnection, UnsafeRawBufferPointer) -> Void
    private let didOpen: @Sendable (any MessageConnection) -> Void

    init(
        keepsMessages: Bool = true, didOpen: @escaping @Sendable (any MessageConnection) -> Void = { _ in },
        react: @escaping @Sendable (any MessageConnection, UnsafeRawBufferPointer) -> Void = { _, _ in }
    ) {
        self.keepsMessages = keepsMessages
        self.didOpen = didOpen
        self.react = react
    }

    /// A recorder that sends back every message.
    static func echo() -> Recorder {
        Recorder(keepsMessages: false, react: { connection, bytes in connection.send(SharedBuffer(bytes)) })
    }

    private func note(_ change: @Sendable (inout State) -> Void) {
        state.update { state in
            if !state.closes.isEmpty { state.callsAfterClose += 1 }
            change(&state)
        }
    }

    func connectionDidOpen(_ connection: any MessageConnection) {
        note {
            $0.openCount += 1
            $0.connection = connection
        }
        didOpen(connection)
    }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        let bytes = keepsMessages ? Array(message) : []
        let count = message.count
        note {
            if self.keepsMessages { $0.messages.append(bytes) }
            $0.messageCount += 1
            $0.byteCount += count
        }
        react(connection, message)
    }

    func connectionDidDrain(_ connection: any MessageConnection) { note { $0.drainCount += 1 } }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        note {
            $0.closes.append(error)
            $0.connection = nil
        }
    }

    func opened() async throws { try await state.wait(for: "the opening") { $0.openCount == 1 || !$0.closes.isEmpty } }

    /// Waits for the end of the connection, and returns its error.
    func closed() async throws -> TransportError? {
        try await state.wait(for: "the end") { !$0.closes.isEmpty }.closes[0]
    }

    func received(_ count: Int) async throws -> [[UInt8]] {
        try await state.wait(for: "\(count) messages") { $0.messageCount >= count }.messages
    }
}
