//! A proxy of the environment is for servers of other machines.

use restante_testkit::receiver::{Answer, Receiver};

use crate::desk::Desk;

const PROXY_VARIABLES: [&str; 3] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY"];

#[test]
fn a_server_of_this_machine_is_reached_without_the_proxy() {
    let desk = Desk::new();
    let proxy = Receiver::start();
    let url = proxy.url("");
    let environment = PROXY_VARIABLES.map(|name| (name, url.as_str()));
    let _ = desk.run_with(&environment, &["inbox", "create"]).expect(0);
    assert_eq!(proxy.connections(), 0);
}

#[test]
fn a_server_elsewhere_is_reached_through_the_proxy() {
    let desk = Desk::without_server();
    let proxy = Receiver::start();
    proxy.always(Answer::status(403));
    let url = proxy.url("");
    for variable in PROXY_VARIABLES {
        let asked = ["inbox", "list", "--url", "http://mail.test", "--api-key", "x"];
        let _ = desk.run_with(&[(variable, &url)], &asked).expect_error(&["403"]);
    }
    let requests = proxy.requests();
    assert_eq!(requests.len(), PROXY_VARIABLES.len());
    for request in requests {
        assert!(
            request.target.starts_with("http://mail.test/api/"),
            "{}",
            request.target
        );
    }
}
