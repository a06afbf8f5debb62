import SluiceWire

extension Simulation {
    /// The messages of an item, short enough to read.
    static func describe<Message: WireMessage>(_ item: SimulatedNetwork.Item, as type: Message.Type) -> String {
        guard case .frame(let frame) = item else { return "\(item)" }
        let messages = (try? Frame.decode(frame, as: type)) ?? []
        return messages.map { message in
            var text = "\(message)"
            for prefix in [
                "SluiceModel.", "SluiceWire.", "ClientMessage.", "ServerMessage.", "Value.", "ObjectOperation.",
                "FieldOperation.", "ObjectGroup.", "ViewBlock.",
            ] { text = text.replacing(prefix, with: "") }
            if let schema = text.firstRange(of: "schema: ") { text.removeSubrange(schema.lowerBound...) }
            return text.count > 1_500 ? text.prefix(1_500) + "…" : text
        }.joined(separator: " + ")
    }
}
