internal import SluiceTransport

/// `/metrics`, which Prometheus and its like read, on a listener of its own.
struct MetricsPage: Sendable {
    /// The numbers of the server at the moment, as text.
    let text: @Sendable () async -> String
    /// Whether the listener is at a loopback address, where no name but `localhost` leads.
    let isLoopback: Bool

    /// Adds the page.
    func add(to routes: inout WebRoutes) {
        routes.add("GET", "/metrics") { [self] exchange in
            if let refusal = refusal(of: exchange.request) { return exchange.respond(refusal) }
            Task {
                let type = "text/plain; version=0.0.4; charset=utf-8"
                exchange.respond(HTTPResponse(status: 200, type: type, await text()))
            }
        }
    }

    /// No page of a browser gets the numbers: not one of another site, and not one whose name somebody has made lead to
    /// this machine.
    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        if request.isOfPage { return HTTPResponse(status: 403, text: "web pages do not get the metrics") }
        guard isLoopback, let host = request.headers["Host"], !WebSocketServer.isLoopback(Self.name(host)) else {
            return nil
        }
        return HTTPResponse(
            status: 421, text: "this listener is at a loopback address; ask it as localhost or by its address")
    }

    /// A `Host` without its port and brackets.
    private static func name(_ host: String) -> String {
        if host.hasPrefix("[") { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }
}
