internal import SluiceTransport

/// `/health/live` and `/health/ready`, which balancers and supervisors ask: without a login, and without the names of
/// databases, which may be secrets.
///
/// `live` says that the process answers at all; a supervisor restarts it otherwise. `ready` says whether to send stores
/// here. Neither waits for a database.
struct HealthPages: Sendable {
    /// The health of the server at the moment.
    let health: @Sendable () -> ServerHealth

    /// Adds the pages.
    func add(to routes: inout WebRoutes) {
        routes.add("GET", "/health/live") { exchange in
            exchange.respond(Self.response(200, "{\"state\":\"live\"}", to: exchange.request))
        }
        routes.add("GET", "/health/ready") { [health] exchange in
            let health = health()
            var response = Self.response(health.isReady ? 200 : 503, health.json, to: exchange.request)
            if !health.isReady { response.headers.append("Retry-After", "1") }
            exchange.respond(response)
        }
    }

    /// A page of a browser gets the status alone.
    private static func response(_ status: Int, _ json: String, to request: HTTPRequest) -> HTTPResponse {
        HTTPResponse(status: status, type: "application/json", request.isOfPage ? "" : json + "\n")
    }
}
