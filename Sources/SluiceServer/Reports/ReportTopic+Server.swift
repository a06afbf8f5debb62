internal import SluiceWire

extension ClientMessage.ReportTopic {
    /// Whether the topic is about the server, which answers it, and not about a database alone.
    var isOfServer: Bool { [.sessions, .endSession, .databases, .health, .metrics, .log].contains(self) }
}
